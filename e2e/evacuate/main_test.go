// Package evacuate plans the move of several applications between real control planes as one.
package evacuate

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, nil, harness.Embedded, harness.Kind)) }
