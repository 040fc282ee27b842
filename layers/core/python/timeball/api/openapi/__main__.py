"""Write docs/openapi.json of this checkout."""

from pathlib import Path

from timeball.api.openapi.document import document_text

if __name__ == "__main__":
    path = Path(__file__).resolve().parents[6] / "docs" / "openapi.json"
    path.write_text(document_text(), encoding="utf-8")
