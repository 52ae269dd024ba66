# Included last. What Snakemake (9.27) does not see while it plans:
# - a file that somebody emptied, altered or deleted, where what was made of it is there;
# - an error while it asks what a file is made of, where that file is there: it takes it for one that nothing makes;
# - a rule's own command that was edited: as a trigger (`code`) it would measure again what has the same identity;
# - that a result is whole which a run was killed beside: results are written in one step, with a seal.
from snakemake.exceptions import InputFunctionException

from plan import marks, stamps
from plan.files import say_once


def stop(asked, error):
    """End the run with one line; Snakemake swallows a message of SystemExit once it has started a job."""
    if isinstance(error, SystemExit):
        said = error.code
    elif isinstance(error, OSError):
        said = refused(f"cannot plan {asked.name}: {error.filename}: {error.strerror}")
    else:
        said = f"cannot plan {asked.name}: {type(error).__name__}: {error}"
    if isinstance(said, str):
        print(said, file=sys.stderr, flush=True)
    sys.exit(1)


def heal(outputs, inputs):
    """Have the files of a step made anew where they are not what it made of `inputs`."""
    for path in inputs:
        if not path.startswith("results/") and not Path(path).exists():
            sys.exit(f"{path} is missing, which {outputs[0]} is made of; put it back.")
    if not stamps.is_whole(outputs, inputs):
        anew(*outputs)
        if wrong := stamps.wrong(outputs):
            say_once(f"{wrong}; it is made again.")


def watched(asked):
    """Have a rule looked after whenever Snakemake asks it for a job's inputs."""
    answer, expand = asked.apply_input_function, asked.expand_input

    def apply_input_function(*arguments, **more):
        try:
            return answer(*arguments, **more)
        except InputFunctionException as error:
            stop(asked, error.__context__ or error)
        except SystemExit as error:
            stop(asked, error)

    def expand_input(wildcards, groupid=None):
        try:
            have_folder()  # before anything is set aside
            found = expand(wildcards, groupid)
            if "stamp" in asked.params.keys():
                outputs, inputs = asked.expand_output(wildcards)[0], found[0]
                heal(list(map(str, outputs)), list(map(str, inputs)))
                code = workflow.persistence.code(outputs[0])
                if code not in (None, asked.shellcmd):
                    anew(*outputs)
            return found
        except (OSError, SystemExit) as error:
            stop(asked, error)

    asked.apply_input_function, asked.expand_input = apply_input_function, expand_input


# A node of a cluster does what it is told.
if workflow.is_main_process:
    marks.take_off_whole()
    for each in workflow.rules:
        watched(each)
