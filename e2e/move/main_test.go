// Package move moves applications between real control planes, every time under an
// independent auditor.
package move

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, onKind, harness.Embedded, harness.Kind)) }
