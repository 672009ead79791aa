"""The executors: order of calls, early finish, cancel, errors, deadlock, leaked threads, many chunks."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable

import pytest

from pyspark_pipeline.errors import EngineBugError, PipelineError, SparkConditionError
from pyspark_pipeline.exec import Chunk, FragmentInstance, Operator, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.states import DriverState
from pyspark_pipeline.testing import Clocks, StepClock, wait_until_blocked, watched
from tests.exec.kit import Made, Recorded, Sink, Source, Step, chunk, chunks, pipeline, run, values

FULL_LIFE = ["prepare", "set_finishing", "set_finished", "close"]
both = pytest.mark.parametrize("threads", [1, 3])


@pytest.fixture(autouse=True)
def no_thread_is_left():
    """Assert that each test leaves no thread."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


@both
def test_every_stage_is_entered_once_and_in_order(threads: int) -> None:
    queue = OutputQueue()
    operators = [Source(chunks(5)), Step(), Step(), Sink(queue)]
    items, instance = run([pipeline(*operators)], queue, threads)
    assert values(items) == list(range(20))
    assert [operator.stages() for operator in operators] == [FULL_LIFE] * 4
    assert [driver.state for driver in instance.drivers] == [DriverState.FINISH]


@both
def test_an_empty_source_still_finishes(threads: int) -> None:
    queue = OutputQueue()
    operators = [Source([]), Step(), Sink(queue)]
    items, _ = run([pipeline(*operators)], queue, threads)
    assert items == []
    assert [operator.stages() for operator in operators] == [FULL_LIFE] * 3


@both
def test_limit_finishes_upstream_operators(threads: int) -> None:
    queue = OutputQueue()
    source, step, limit, sink = Source(chunks(100)), Step(), Step(limit=6), Sink(queue)
    items, _ = run([pipeline(source, step, limit, sink)], queue, threads)
    assert values(items) == list(range(6))
    assert source.log.count("pull_chunk") <= 3
    assert [operator.stages() for operator in (source, step, limit, sink)] == [FULL_LIFE] * 4


@both
def test_chunks_without_rows_are_not_pushed(threads: int) -> None:
    queue = OutputQueue()
    step = Step(work=lambda given: None if given.column(0)[0].as_py() else given.slice(0, 0))
    sink = Sink(queue)
    items, _ = run([pipeline(Source(chunks(3)), step, sink)], queue, threads)
    assert items == [] and "push_chunk" not in sink.log


@both
def test_closing_the_generator_cancels(threads: int) -> None:
    queue = OutputQueue(capacity=2)
    operators = [Source(chunks(100)), Step(), Sink(queue)]
    instance = FragmentInstance([pipeline(*operators)], queue)
    items = execute(instance, threads)
    next(items)
    items.close()
    assert [operator.stages() for operator in operators] == [["prepare", "set_cancelled", "close"]] * 3
    assert [driver.state for driver in instance.drivers] == [DriverState.CANCELED]
    assert operators[0].log.count("pull_chunk") < 10
    assert len(queue) == 0


@both
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    "call",
    ["prepare", "has_output", "pull_chunk", "need_input", "push_chunk", "is_finished", "set_finishing", "set_finished",
     "pending_finish", "close"],
)  # fmt: skip
def test_error_in_any_call_closes_all_operators_once_and_names_the_call(threads: int, place: int, call: str) -> None:
    queue = OutputQueue()
    operators = [Source(chunks(3)), Step(), Sink(queue)]
    operators[place].fails = call
    never_called = {("has_output", 2), ("pull_chunk", 2), ("need_input", 0), ("push_chunk", 0)}
    instance = FragmentInstance([pipeline(*operators)], queue)
    if (call, place) in never_called:
        assert values(list(execute(instance, threads))) == list(range(12))
        return
    with pytest.raises(EngineBugError) as caught:
        list(execute(instance, threads))
    name = ("source", "step", "sink")[place]
    assert f"in {call} of operator {place} ({name}) of pipeline 0, driver 0" in str(caught.value)
    assert "told to fail" in str(caught.value) and "Traceback" in str(caught.value)
    for operator in operators:
        stages = operator.stages()
        assert len(set(stages)) == len(stages)
        if "prepare" in stages:
            assert stages[-1] == "close"
        order = ["prepare", "set_finishing", "set_finished", "set_cancelled", "close"]
        assert stages == sorted(stages, key=order.index)


@both
def test_engine_errors_propagate_with_a_note_and_pickle(threads: int) -> None:
    def work(_: Chunk) -> Chunk:
        raise SparkConditionError("SparkArithmeticException", "DIVIDE_BY_ZERO", {}, 3)

    queue = OutputQueue()
    with pytest.raises(SparkConditionError) as caught:
        run([pipeline(Source(chunks(1)), Step(work=work), Sink(queue))], queue, threads)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert copy.context == 3
    assert copy.__notes__ == ["in pull_chunk of operator 1 (step) of pipeline 0, driver 0"]


@both
def test_error_in_set_cancelled_becomes_a_note_of_the_first_error(threads: int) -> None:
    queue = OutputQueue()
    operators = [Source(chunks(1), fails="pull_chunk"), Step(fails="set_cancelled"), Sink(queue, fails="set_cancelled")]
    with pytest.raises(EngineBugError, match="in pull_chunk of operator 0") as caught:
        run([pipeline(*operators)], queue, threads)
    notes = caught.value.__notes__
    assert "in set_cancelled of operator 1 (step)" in notes[-2]
    assert "in set_cancelled of operator 2 (sink)" in notes[-1]
    assert [operator.stages()[-2:] for operator in operators] == [["set_cancelled", "close"]] * 3


@both
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_error_in_precondition_ready_names_the_operator(threads: int, nth: int) -> None:
    asked: list[int] = []

    class Unsure(Made):
        def precondition_ready(self) -> bool:
            asked.append(1)
            if len(asked) == nth:
                raise ValueError("told to fail")
            return len(asked) > nth

    queue = OutputQueue()
    operators = [Source(chunks(1)), Step(), Sink(queue)]
    source, _, sink = pipeline(*operators).factories
    instance = FragmentInstance([Pipeline(id=0, factories=(source, Unsure("probe", lambda _: Step()), sink))], queue)
    with pytest.raises(EngineBugError, match=r"told to fail\nin precondition_ready of operator 1 \(probe\)"):
        list(execute(instance, threads))
    assert [operators[place].stages()[-1] for place in (0, 2)] == ["close", "close"]


@both
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("call", ["has_output", "need_input", "is_finished", "pending_finish"])
def test_error_raised_once_in_any_poll_fails_the_query(threads: int, place: int, call: str) -> None:
    """Raise in the first, second, third … poll, until the query ends earlier; executors also poll blocked drivers."""
    for nth in range(1, 100):
        queue = OutputQueue(1)
        operators = [Source(chunks(3)), Step(), Sink(queue)]
        original = getattr(operators[place], call)
        asked: list[int] = []

        def once(original: Callable[[], bool] = original, asked: list[int] = asked, nth: int = nth) -> bool:
            asked.append(1)
            if len(asked) == nth:
                raise ValueError("told once")
            return original()

        setattr(operators[place], call, once)
        instance = FragmentInstance([pipeline(*operators)], queue)
        try:
            list(execute(instance, threads))
        except EngineBugError as error:
            assert f"told once\nin {call} of operator {place} (" in str(error), nth
        else:
            assert len(asked) < nth, f"the error of poll {nth} was lost"
            assert (nth > 1) is ((call, place) not in {("has_output", 2), ("need_input", 0)})
            return
    pytest.fail("the query never ended")


@both
def test_error_in_close_becomes_a_note_of_the_first_error(threads: int) -> None:
    queue = OutputQueue()
    source, sink = Source(chunks(1), fails="pull_chunk"), Sink(queue, fails="close")
    with pytest.raises(PipelineError) as caught:
        run([pipeline(source, sink)], queue, threads)
    assert "pull_chunk" in str(caught.value)
    assert "while cleaning up" in caught.value.__notes__[-1]


class Never(Recorded):
    """A source without output that never ends."""

    def is_finished(self) -> bool:
        return False


@both
def test_deadlock_raises_with_a_dump_of_every_driver(threads: int) -> None:
    queue = OutputQueue()
    stuck = pipeline(Never(), Sink(queue))
    fine = pipeline(Source(chunks(2)), Sink(queue), number=1)
    with pytest.raises(EngineBugError, match="nothing can wake one") as caught:
        run([stuck, fine], queue, threads)
    assert "driver 0 of pipeline 0: INPUT_EMPTY, waits for split, because of operator 0 (never)" in str(caught.value)
    assert "driver 0 of pipeline 1: FINISH" in str(caught.value)
    assert "NOT_READY → INPUT_EMPTY" in str(caught.value)


class FromThread(Source):
    """A source whose chunks a thread makes, each when the driver is blocked; ``wakes``: it wakes the driver.

    Each takes 2 ms by ``clock``.
    """

    def __init__(self, count: int, wakes: bool) -> None:
        super().__init__([])
        self.count, self.wakes, self.ended = count, wakes, False
        self.clock = StepClock()
        self.drivers: list[Driver] = []
        self.taken = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def prepare(self, context) -> None:  # type: ignore[no-untyped-def]
        super().prepare(context)
        context.background.started("chunk maker")
        self.thread.start()

    def work(self) -> None:
        for i in range(self.count):
            assert i == 0 or self.taken.wait(10)
            self.taken.clear()
            if self.finished:
                self.taken.set()
            wait_until_blocked(self.drivers)
            self.clock.advance(2_000_000)
            self.left.append(chunk(4 * i))
            if self.wakes:
                self.context.wake()
        self.ended = True
        self.context.background.done("chunk maker")
        if self.wakes:
            self.context.wake()

    def pull_chunk(self) -> Chunk | None:
        given = super().pull_chunk()
        self.taken.set()
        return given

    def is_finished(self) -> bool:
        return self.ended and not self.left

    def pending_finish(self) -> bool:
        return not self.ended

    def set_finished(self) -> None:
        super().set_finished()
        self.taken.set()

    def close(self) -> None:
        super().close()
        self.thread.join()


def fed_by_thread(source: FromThread, *below: Operator, queue: OutputQueue) -> FragmentInstance:
    """Return the instance of a pipeline from ``source``, with its clock."""
    instance = FragmentInstance([pipeline(source, *below)], queue, clocks=Clocks(measuring=source.clock))
    source.drivers = instance.drivers
    return instance


class WakesWhenClosed(Source):
    """A source without output; closing it wakes its driver, as closing shared state may."""

    def is_finished(self) -> bool:
        return False

    def close(self) -> None:
        super().close()
        self.context.wake()


@both
def test_wake_up_during_close_does_not_unblock_a_driver(threads: int) -> None:
    queue = OutputQueue()
    failing = pipeline(Source(chunks(1), fails="pull_chunk"), Sink(queue))
    with pytest.raises(EngineBugError, match="told to fail in pull_chunk") as caught:
        run([pipeline(WakesWhenClosed([]), Sink(queue), number=1), failing], queue, threads)
    assert getattr(caught.value, "__notes__", []) == []


@both
@pytest.mark.parametrize("wakes", [True, False])
def test_executor_waits_for_background_work(threads: int, wakes: bool) -> None:
    queue = OutputQueue()
    source = FromThread(5, wakes)
    instance = fed_by_thread(source, Sink(queue), queue=queue)
    assert values(watched(execute(instance, threads), instance)) == list(range(20))
    metrics = instance.metrics()
    if wakes:
        assert metrics["missed_wakeups"] == 0
    else:
        assert metrics["missed_wakeups"] > 0
    told = metrics["pipelines"][0]
    waited = told["operators"][0]["blocked_s"]
    assert waited == {"split": pytest.approx(0.01)} and told["drivers"][0]["blocked_s"] == waited


@both
def test_pending_finish_keeps_the_driver_open(threads: int) -> None:
    queue = OutputQueue()
    source = FromThread(20, wakes=True)
    instance = fed_by_thread(source, Step(limit=3), Sink(queue), queue=queue)
    assert values(watched(execute(instance, threads), instance)) == [0, 1, 2] and source.ended
    assert "PENDING_FINISH" in instance.drivers[0].machine.story()


@both
def test_many_chunks_pass_through_a_small_output_queue(threads: int) -> None:
    queue = OutputQueue(capacity=1)
    given = [chunk(i, 1) for i in range(3000)]
    items, instance = run([pipeline(Source(given), Step(), Sink(queue))], queue, threads)
    assert values(items) == list(range(3000))
    assert instance.metrics()["missed_wakeups"] == 0
    assert instance.metrics()["pipelines"][0]["drivers"][0]["blocks"]["consumer"] > 0


@both
def test_slow_consumer_blocks_the_drivers(threads: int) -> None:
    queue = OutputQueue(capacity=4)
    source = Source(chunks(1000))
    instance = FragmentInstance([pipeline(source, Step(), Sink(queue))], queue)
    items = execute(instance, threads)
    next(items)
    wait_until_blocked(instance.drivers)
    assert instance.drivers[0].state is DriverState.OUTPUT_FULL
    assert source.log.count("pull_chunk") <= 8
    items.close()


def test_serial_mode_starts_no_thread() -> None:
    queue = OutputQueue()
    seen: list[int] = []
    step = Step(work=lambda given: (seen.append(threading.get_ident()), given)[1])
    before = threading.active_count()
    for _ in execute(FragmentInstance([pipeline(Source(chunks(3)), step, Sink(queue))], queue)):
        assert threading.active_count() == before
    assert set(seen) == {threading.get_ident()}


def test_executor_threads_run_the_drivers() -> None:
    queue = OutputQueue()
    meet = threading.Barrier(2, timeout=10)
    seen: list[int] = []

    def work(given: Chunk) -> Chunk:
        meet.wait()
        seen.append(threading.get_ident())
        return given

    two = [pipeline(Source(chunks(3)), Step(work=work), Sink(queue), number=i) for i in range(2)]
    run(two, queue, 2)
    assert len(set(seen)) == 2 and threading.get_ident() not in seen


@both
def test_an_instance_runs_once(threads: int) -> None:
    queue = OutputQueue()
    _, instance = run([pipeline(Source([]), Sink(queue))], queue, threads)
    with pytest.raises(EngineBugError, match="runs once"):
        list(execute(instance, threads))


def test_unmet_precondition_blocks_the_pipeline() -> None:
    queue = OutputQueue()
    built: list[int] = []

    class Build(Sink):
        def set_finishing(self) -> None:
            super().set_finishing()
            built.append(1)

    class Probe(Made):
        def precondition_ready(self) -> bool:
            return bool(built)

    def work(given: Chunk) -> Chunk:
        assert built
        return given

    probing = pipeline(Source(chunks(2)), Step(), Sink(queue))
    probe = Probe("probe", lambda _: Step(work=work))
    probing = type(probing)(id=0, factories=(probing.factories[0], probe, probing.factories[2]))
    building = pipeline(Source(chunks(2)), Build(OutputQueue()), number=1)
    items, instance = run([probing, building], queue)
    assert values(items) == list(range(8))
    assert "PRECONDITION_BLOCK" in instance.drivers[0].machine.story()


def test_dump_shows_the_current_call_of_a_driver() -> None:
    queue = OutputQueue()
    inside, go_on = threading.Event(), threading.Event()

    def work(given: Chunk) -> Chunk:
        inside.set()
        go_on.wait(10)
        return given

    instance = FragmentInstance([pipeline(Source(chunks(1)), Step(work=work), Sink(queue))], queue)
    reader = threading.Thread(target=lambda: list(execute(instance, 2)))
    reader.start()
    assert inside.wait(10)
    assert "s in pull_chunk of operator 1 (step)" in instance.dump()
    go_on.set()
    reader.join()


@both
def test_background_work_ends_before_operators_are_closed(threads: int) -> None:
    """After the cancel the thread continues, then checks that no operator has been closed."""
    queue = OutputQueue(capacity=1)
    cancelled, closed = threading.Event(), threading.Event()
    ended_at_close: list[bool] = []

    class Watched(Source):
        ended = False

        def prepare(self, context) -> None:  # type: ignore[no-untyped-def]
            super().prepare(context)
            context.background.started("reader")
            self.thread = threading.Thread(target=self.work)
            self.thread.start()

        def work(self) -> None:
            cancelled.wait(10)
            self.ended = not closed.wait(0.05)
            self.context.background.done("reader")

        def set_cancelled(self) -> None:
            super().set_cancelled()
            cancelled.set()

        def close(self) -> None:
            ended_at_close.append(self.ended)
            closed.set()
            self.thread.join()
            super().close()

    items = execute(FragmentInstance([pipeline(Watched(chunks(20)), Sink(queue))], queue), threads)
    next(items)
    items.close()
    assert ended_at_close == [True]


@both
def test_wake_up_of_a_running_driver_is_not_lost(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Source):
        """Has no output at first, and wakes its driver before that is blocked."""

        asked_before = 0

        def prepare(self, context) -> None:  # type: ignore[no-untyped-def]
            super().prepare(context)
            context.background.started("something that takes long")

        def has_output(self) -> bool:
            self.asked_before += 1
            self.context.wake()
            return self.asked_before > 3 and super().has_output()

        def set_finished(self) -> None:
            super().set_finished()
            self.context.background.done("something that takes long")

    monkeypatch.setattr("pyspark_pipeline.exec.threaded._FALLBACK_SECONDS", 5.0)
    monkeypatch.setattr("pyspark_pipeline.exec.serial._FALLBACK_SECONDS", 5.0)
    queue = OutputQueue()
    items, instance = run([pipeline(Late(chunks(1)), Sink(queue))], queue, threads)
    assert values(items) == [0, 1, 2, 3]
    assert instance.missed_wakeups == 0  # not found by the executor's own poll, every 5 s
