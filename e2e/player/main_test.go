package player_test

import (
	"os"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, nil, harness.Embedded, nil)) }
