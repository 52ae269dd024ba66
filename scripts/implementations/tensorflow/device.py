"""TensorFlow's device and threads, its graphs and its build: what does not depend on a model."""

import os

import numpy as np
import tensorflow as tf

from measurement.contract import Unsupported

from .sessions import SESSIONS, Session
from .sessions import configure as configure_sessions


def configure(device, threads, count=1):
    """Choose the device and its settings, before the first op; returns them for the record.

    Raises Unsupported when there is no GPU to use.
    """
    gpus = [] if SESSIONS else tf.config.experimental.list_physical_devices("GPU")
    if device == "gpu":
        if not gpus:
            build = "" if tf.test.is_built_with_cuda() else ": this build has no CUDA"
            raise Unsupported("TensorFlow %s sees no GPU%s" % (tf.__version__, build))
        gpus = gpus[:count]  # visible, the first is where ops are placed by default
        tf.config.experimental.set_visible_devices(gpus, "GPU")
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)  # so that the peak means something
    elif gpus:
        tf.config.experimental.set_visible_devices([], "GPU")
    # Inter-op: on 2 cores, 2 run the graphs' training 5 to 10 % faster than 1, the rest the same.
    tf32 = False
    if SESSIONS:
        configure_sessions(threads)
    else:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        if hasattr(tf.config.experimental, "enable_tensor_float_32_execution"):  # came with 2.4
            tf.config.experimental.enable_tensor_float_32_execution(False)
            tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    return {
        "intra_op_threads": threads,
        "inter_op_threads": threads,
        "tf32": tf32,
        "cudnn_autotune": os.environ["TF_CUDNN_USE_AUTOTUNE"] != "0",
        "onednn_opts": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
        "onednn": onednn(),
    }


def onednn():
    """Whether oneDNN (MKL-DNN) is in this build and on; None where TensorFlow does not tell."""
    try:
        from tensorflow.python.util import _pywrap_util_port as port
    except ImportError:  # before 2.3
        from tensorflow.python import pywrap_tensorflow as port
    return bool(port.IsMklEnabled()) if hasattr(port, "IsMklEnabled") else None


def compiled(python_function, signature, session, function):
    """`python_function` as a graph. signature: (shape, dtype) of each of its arguments; session: None where
    there is `tf.function`, whose further arguments `function` has."""
    if session:
        return session.function(python_function, signature)
    specifications = [tf.TensorSpec(shape, dtype) for shape, dtype in signature]
    return tf.function(python_function, input_signature=specifications, **function)


def executed(function, given):
    """The operators that a `tf.function` runs as, after all that TensorFlow makes of its graph: [NodeDef, ...].

    It tells of a graph once, when that is compiled, the latest last: so this calls the function anew.
    """
    from tensorflow.python.eager import context

    anew = tf.function(function.python_function, input_signature=function.input_signature)
    context.enable_run_metadata()
    try:
        anew(*given)
        graphs = context.export_run_metadata().function_graphs[-1].partition_graphs
    finally:
        context.disable_run_metadata()
    return [node for graph in graphs for node in graph.node]


def host(tensor):
    """A tensor as a host array, which those that a session returns are already."""
    return tensor.numpy() if hasattr(tensor, "numpy") else tensor


def flushes_to_zero(function, threads):
    """Whether ops flush denormals to zero when run this way (`function` as in Model).

    There is no switch: TensorFlow's own threads flush, and the calling thread, where eager ops run,
    does so in later versions. So try it.
    """
    multiply, factors = tf.multiply, [np.float32(2e-38), np.float32(1e-2)]  # 2e-40 is denormal
    if function is not None:
        session = Session(threads) if SESSIONS else None
        given = (multiply, [((), np.float32)] * 2, session, function)
        multiply = session.build(compiled, *given) if session else compiled(*given)
    if function is None or not SESSIONS:
        factors = [tf.constant(factor) for factor in factors]
    return bool(host(multiply(*factors)) == 0.0)


def build_facts():
    """How TensorFlow was built, for the record."""
    try:
        facts = {key: str(value) for key, value in tf.sysconfig.get_build_info().items()}
    except AttributeError:  # before 2.3
        facts = {"is_cuda_build": str(tf.test.is_built_with_cuda())}
    for library in ("cuda", "cudnn"):  # under the names that every framework's record has
        if library + "_version" in facts:
            facts[library] = facts.pop(library + "_version")
    version = getattr(tf, "version", tf)
    facts["compiler"], facts["git_version"] = version.COMPILER_VERSION, version.GIT_VERSION
    return facts
