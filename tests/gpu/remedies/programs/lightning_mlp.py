"""Lightning: a Trainer fits a small network to a table, in batches of 256 rows that a DataLoader puts together."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator

import pytorch_lightning as pl
import torch
from tests.gpu.remedies.loop import Loop, Pace, run, sized, torch_synchronize
from torch.utils.data import DataLoader, TensorDataset

ROWS = sized(200_000, 2048)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Table(pl.LightningModule):
    """Three hidden layers; the loss is logged in every step."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.fused = fused
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(64, 512), torch.nn.BatchNorm1d(512), torch.nn.ReLU(),
            torch.nn.Linear(512, 512), torch.nn.BatchNorm1d(512), torch.nn.ReLU(),
            torch.nn.Linear(512, 512), torch.nn.BatchNorm1d(512), torch.nn.ReLU(),
            torch.nn.Linear(512, 1),
        )  # fmt: skip

    def training_step(self, batch: list[torch.Tensor], _number: int) -> torch.Tensor:
        rows, target = batch
        loss = torch.nn.functional.mse_loss(self.layers(rows).squeeze(1), target)
        self.log("loss", loss)
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3, fused=self.fused)


class Paced(pl.Callback):
    """Ends the fit when enough steps were made."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace

    def on_train_batch_start(self, trainer: pl.Trainer, *_: object) -> int | None:
        if next(self.pace, self) is self:
            trainer.should_stop = True
            return -1
        return None


class Rows:
    """Batches that are cut out of tensors which are on the GPU already."""

    def __init__(self, rows: torch.Tensor, target: torch.Tensor, size: int) -> None:
        self.rows, self.target, self.size = rows.to(DEVICE), target.to(DEVICE), size

    def __len__(self) -> int:
        return len(self.rows) // self.size

    def __iter__(self) -> Iterator[list[torch.Tensor]]:
        order = torch.randperm(len(self.rows), device=DEVICE)
        for chosen in order.split(self.size)[: len(self)]:
            yield [self.rows[chosen], self.target[chosen]]


def make(variant: str) -> Loop:
    torch.manual_seed(0)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    size = 4096 if variant == "batch4096" else 256
    size = sized(size, size // 16)
    rows = torch.randn(ROWS, 64)
    target = rows[:, :8].square().sum(1)
    if variant.startswith("on_gpu"):
        batches: object = Rows(rows, target, size)
    else:
        batches = DataLoader(TensorDataset(rows, target), batch_size=size, shuffle=True, drop_last=True)
    model = Table(fused=variant == "on_gpu_fused")

    def drive(pace: Pace) -> None:
        trainer = pl.Trainer(
            accelerator="auto", devices=1, max_epochs=-1, logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, callbacks=[Paced(pace)],
        )  # fmt: skip
        trainer.fit(model, batches)

    return Loop(drive=drive, items=size, synchronize=torch_synchronize())


if __name__ == "__main__":
    run(make, ("base", "on_gpu", "on_gpu_fused", "batch4096"))
