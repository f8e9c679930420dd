"""What a curator does for a table that grows: take people in, close ticks, correct records.

add       people wait in the store for the tick that is open
correct   records are replaced at the tick that is open
tick      every tick that is due is closed, one by one
"""

from abc import abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from undeleted.curate import files
from undeleted.curate.stores import Added, Corrected, Store, Watermark
from undeleted.curate.tick_clock import TickClock, moment
from undeleted.errors import BadColumns, BadSetting, ReceiptsVoid, RejectedValue, TicksElsewhere, WrongType
from undeleted.foundations.coins import Coins
from undeleted.foundations.schema import Table
from undeleted.foundations.types import Given


@dataclass(frozen=True)
class Ticked:
    """What `tick` did: ticks that it closed, how many have closed in all, and when the next one is due."""

    closed: int
    ticks: int
    version: int
    due: datetime | None  # None if the clock is manual, or no tick is left


class Joining:
    """The part of a curator that lets people join."""

    _coins: Coins

    @property
    @abstractmethod
    def store(self) -> Store:
        """The open store."""

    @property
    def clock(self) -> TickClock:
        """When ticks close."""
        if "clock" not in self.store.facts:
            problem = f"{self.store.path} does not grow: it was published once."
            remedy = "Publish newcomers into a new store, whose spec has [arrivals]."
            raise BadSetting(problem, remedy)
        return TickClock.from_json(self.store.facts["clock"])

    def _open_clock(self) -> TickClock:
        """The clock of a store whose ticks can close: not of a copy."""
        clock = self.clock
        if self.store.facts.get("closed"):
            raise TicksElsewhere(self.store.path)
        return clock

    def add(self, data: Given, *, skip_existing: bool = False, receipts: Given = None) -> Added:
        """Take people in: they wait in the store, and are published when the tick that is open closes.

        If some of them are there already, nobody is added; or, with `skip_existing`, only the others.
        Somebody who left and joins again is somebody new: the budget is for one stay.

        A store without records notices only those who wait for the same tick.  `receipts` says where their
        receipts go, as in `publish`; they are void if this raises an error.
        """
        self._open_clock()
        return self._add(self._table(data), skip_existing, None, receipts)

    def _add(self, table: Table, skip: bool, mark: Watermark | None, receipts: Given) -> Added:
        store = self.store
        if store.keeps_records or receipts is None:
            if receipts is not None:
                problem = "receipts are written after people were added, because the store keeps records."
                raise BadSetting(problem, "Use curator.receipts_of(rows) or `add --receipts`.")
            return store.add(table, skip=skip, mark=mark)
        from undeleted.curate.destinations import receipts_to
        from undeleted.curate.issuing import issue_to_newcomers

        with receipts_to(receipts, lambda error: isinstance(error, ReceiptsVoid)) as written:
            reserved = store.reserve(table, skip=skip)
            issue_to_newcomers(store, table, reserved, written)
            return store.admit(table, reserved)

    def add_from(
        self, connection: str, table: str, *, watermark: str | None = None, skip_existing: bool = False
    ) -> Added:
        """Take in the people of a database's table; with a watermark, those of rows beyond the last one.

        The watermark is a column that only increases, such as the number of a load.  Its largest value that
        was read is kept in the store, in the same transaction, readable, and for ever.
        """
        from undeleted.curate.connections import beyond, connected, mark_of
        from undeleted.curate.engines.ibis import Ibis

        self._open_clock()
        rows, mark = connected(connection, table, Path()), None
        if watermark is not None:
            if watermark in (*self.store.schema.names, self.store.schema.id):
                problem = "a watermark is kept in the store, and this column is about people."
                raise BadColumns([watermark], problem, "Choose such as the number of a load.")
            name = mark_of(connection, table, watermark)
            last = self.store.facts.get("watermarks", {}).get(name)
            rows, reached = beyond(rows, table, watermark, last)
            mark = Watermark(name, last, reached)
        engine = Ibis(self.store.schema, rows, table)
        try:
            records = files.joined(self.store.schema, [files.small(b) for b in engine.blocks()], table)
        finally:
            engine.close()
        return self._add(records, skip_existing, mark, None)

    def correct(self, data: Given) -> Corrected:
        """Replace the records of these people from the tick that is open.

        Nothing is published before it closes.  If somebody has no correction left, nothing is changed.
        """
        self._open_clock()
        return self.store.correct(self._table(data))

    def tick(self, now: datetime | str | None = None) -> Ticked:
        """Close every tick that is due, one by one, each with its noise; with a manual clock, one.

        `now` is the time to go by, in place of the system's.
        """
        clock, store, at = self._open_clock(), self.store, moment(now)
        ticks = store.ticks
        growth = store.growth
        assert growth is not None
        if at.timestamp() < growth.at:
            last = datetime.fromtimestamp(growth.at, UTC)
            problem = f"it is {at:%Y-%m-%d %H:%M}, and the last tick closed at {last:%Y-%m-%d %H:%M}."
            remedy = "Ticks close in order: correct the clock or `now`; or wait, if they were closed ahead."
            raise BadSetting(problem, remedy)
        horizon, closed = growth.first.horizon, 0
        while ticks < clock.due(at, ticks, horizon):
            closed += store.tick(ticks, self._coins, at.timestamp())
            ticks = store.ticks
            if clock.every == "manual":
                break
        if closed:
            store.erase()
        return Ticked(closed, ticks, store.version, clock.closes(ticks) if ticks < horizon else None)

    def _table(self, data: Given) -> Table:
        """Records on the store's grid, from any table or the path of a file."""
        schema = self.store.schema
        try:
            if isinstance(data, str | Path):
                return files.read(str(data), schema)
            table = data if isinstance(data, Table) else schema.table(data)
        except RejectedValue as error:  # what was published cannot get other rules
            error.remedy = "Correct the rows."
            raise
        if table.schema != schema:
            problem = "the table was encoded with another schema."
            raise WrongType(problem, "Use the store's schema: curator.store.schema.table(rows).")
        return table
