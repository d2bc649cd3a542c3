// Package move moves applications between real control planes. An independent auditor watches every move.
package move

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, onKind, harness.Embedded, harness.Kind)) }
