"""Wrong Keras rows that do less than the whole of a sequence, of a classifier of one layer."""

from measurement.worker import module_of
from tests.tiny import KEPT_STEPS


def style(backend, split, stop_gradient):
    """`build` of a row whose last steps alone count, from `split(T)` on, or whose gradient ends there."""

    def build(workload, weights, device, phase):
        row = module_of("keras/" + backend)  # names the backend, before Keras is imported
        from implementations.keras import model

        right, model.network = model.network, network
        try:
            return row.build(workload, weights, device, phase)
        finally:
            model.network = right

    def network(workload, **lstm_options):
        import keras
        from keras import layers

        shape, first = (workload.batch, workload.length, workload.features), split(workload.length)
        stop = keras.backend.stop_gradient if keras.__version__ < "3" else keras.ops.stop_gradient
        inputs = layers.Input(batch_shape=shape)
        lstm = layers.LSTM(
            workload.hidden,
            recurrent_activation="sigmoid",
            implementation=2,
            return_state=True,
            **lstm_options,
        )
        last = layers.Lambda(
            lambda x: x[:, first:], output_shape=(workload.length - first, shape[2])
        )(inputs)
        state = None
        if stop_gradient:
            before = layers.Lambda(lambda x: x[:, :first], output_shape=(first, shape[2]))(inputs)
            state = lstm(before)[1:]
            state = [layers.Lambda(stop, output_shape=(workload.hidden,))(each) for each in state]
        h = lstm(last, initial_state=state)[0]
        outputs = layers.Dense(workload.outputs, use_bias=False)(h)
        return keras.models.Model(inputs, outputs)

    return build


def styles(backend):
    """truncated, skipped, reset"""
    return (
        style(backend, lambda length: length - KEPT_STEPS, True),
        style(backend, lambda length: 1, False),
        style(backend, lambda length: length // 2, False),
    )


tensorflow_truncated, tensorflow_skipped, tensorflow_reset = styles("lstm_tensorflow")
torch_truncated, torch_skipped, torch_reset = styles("lstm_torch")
jax_truncated, jax_skipped, jax_reset = styles("lstm_jax")
theano_truncated, theano_skipped, theano_reset = styles("lstm_theano")
