"""What the collected tests are going to ask for is begun before the first of them."""

from collections.abc import Iterator

import pytest

from . import running


def asked(session: pytest.Session) -> Iterator[tuple[object, dict]]:
    """(module, parameters) of the tests of this folder."""
    for item in session.items:
        if item.module.__package__ == __package__:
            yield item.module, item.callspec.params if hasattr(item, "callspec") else {}


@pytest.fixture(scope="session", autouse=True)
def begun(request: pytest.FixtureRequest) -> Iterator[None]:
    """Build all environments in one run, then start the processes that modules name in `processes`: one an environment
    and script, whichever module asks for what."""
    tests = list(asked(request.session))
    processes = [
        process
        for module, parameters in tests
        if hasattr(module, "processes")
        for process in module.processes(**parameters)
    ]
    named = {parameters["environment"] for _, parameters in tests if "environment" in parameters}
    running.build(named | {environment for environment, *_ in processes})
    for environment, script, *arguments in processes:
        if script == running.GATE:
            running.ask(environment, *arguments)
    running.start_asked()
    for process in processes:
        if process[1] != running.GATE:
            running.start(*process)
    yield
    for pool in (running.POOL, running.THEANO):
        pool.shutdown(cancel_futures=True)  # of a session that was cut short
