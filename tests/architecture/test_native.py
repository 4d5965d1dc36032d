"""The compiled part is there where it is expected, so that its tests are not skipped unseen."""

import os

import pytest

from tabpe import native


@pytest.mark.skipif(
    os.environ.get("TABPE_EXPECT_NATIVE") != "1", reason="TABPE_EXPECT_NATIVE=1 is not set"
)
def test_the_native_votes_are_installed():
    assert native.search is not None, "tabpe was installed without its compiled part"


def test_the_portable_kernels_are_there_on_every_machine():
    if native.search is None:
        pytest.skip("the native votes are not installed")
    assert native.search.instruction_sets()[-1] == "portable"
