"""Which text a run measures on, as far as that is known before anything is fetched."""

import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

import datasets
from measurement.record import read_json, sha256
from plan.files import aside, damage, say, say_once
from plan.jobs import RESULTS, digest_of


@dataclass(frozen=True)
class Corpus:
    """The configuration's `corpus`. `source` names where the text comes from, `text` what it is."""

    config: dict

    @property
    def wanted(self) -> dict:
        """What decides which text it is; mirrors decide only whence."""
        kept = {key: self.config[key] for key in ("dataset", "path", "stand_in")}
        return kept | {"sha256": self.sha256}

    @cached_property
    def dataset(self) -> ModuleType:
        return datasets.load(self.config["dataset"])

    @cached_property
    def sha256(self) -> dict[str, str]:
        """{split: digest of the wanted file}: the configuration's, else the data set's own."""
        return self.dataset.SHA256 | (self.config["sha256"] or {})

    @property
    def mirrors(self) -> list[str]:
        """Likewise, where the files are downloaded from."""
        own = self.config["mirrors"]
        return list(self.dataset.MIRRORS) if own is None else own

    def file(self, split: str) -> str:
        """The name of a split's file."""
        return self.dataset.FILE.format(split=split)

    @cached_property
    def source_digest(self) -> str:
        return digest_of(self.wanted)

    @cached_property
    def source(self) -> str:
        """The file that says which text was had: from a folder or a mirror, or the stand-in."""
        return f"{RESULTS}/corpus/sources/{self.source_digest}/source.json"

    @property
    def known(self) -> bool:
        """Whether it is known which text it is: a folder was named, or it was fetched before and is as it was then."""
        return bool(self.config["path"]) or (os.path.exists(self.source) and not self._wrong)

    @cached_property
    def _wrong(self) -> str:
        """What is wrong with the text that was fetched."""
        if wrong := damage(self.source):
            return wrong
        for split, noted in read_json(self.source)["sha256"].items():
            file = self._text(split)
            if file.exists() and (file.is_dir() or sha256(str(file)) != noted):
                return f"{file.name} next to it was modified"
        return ""

    @property
    def files(self) -> dict[str, Path]:
        """{split: its file}: of the folder that is named, else where it is fetched to."""
        folder = Path(self.config["path"] or os.path.dirname(self.source))
        return {split: folder / self.file(split) for split in self.sha256}

    def _text(self, split: str) -> Path:
        return Path(self.source).with_name(self.file(split))

    def set_aside(self, dry: bool = False) -> bool:
        """Take a text that was fetched and is damaged out of the way of the next one, and say so; a `dry` run says it
        only. -> whether it is damaged"""
        if not os.path.exists(self.source) or not (wrong := self._wrong):
            return False
        if dry:
            say_once(f"{self.source} is damaged ({wrong}); a run downloads it again.")
        else:
            os.replace(self.source, aside(self.source))
            for file in map(self._text, self.sha256):
                if file.is_dir():
                    os.replace(file, aside(str(file)))
            say(f"{self.source} is damaged ({wrong}); it is downloaded again.")
            del self.__dict__["_wrong"]
        return True

    @cached_property
    def _fetched(self) -> dict[str, str]:
        return read_json(self.source)["sha256"]

    def text(self) -> dict[str, str]:
        """{split: SHA-256}; as wanted, where it is not known yet."""
        if not self.config["path"] and self.known:
            return self._fetched
        return self.sha256

    def require_files(self) -> None:
        """Stop with one line, before anything runs, if a folder is named that does not hold the wanted text."""
        if not self.config["path"]:
            return
        for split, file in self.files.items():
            wanted = self.sha256[split]
            if not file.is_file():
                sys.exit(
                    f"corpus.path: {file} does not exist; name a folder with "
                    f"{', '.join(map(self.file, self.sha256))}."
                )
            found = sha256(str(file))
            if found != wanted:
                sys.exit(
                    f"corpus.path: {file} is not the expected text: its SHA-256 is {found}, corpus.sha256.{split} is "
                    f"{wanted[:12]}... It is truncated or another edition; for a text of your own, set corpus.sha256 to its checksums."
                )
