package pages

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// embeddedOnly lists the cases that are not run on kind, each with the reason.
var embeddedOnly = map[string]string{
	"TestEveryCommandOfThePages":  "what each command does on kubelets, the cases of e2e/move and the tutorial show",
	"TestCommandsElsewhereAreRun": "it reads files of the repository",
	"TestEveryCaseHasItsGround":   "it reads files of the repository",
}

// TestEveryCaseHasItsGround: each case either runs on kind or has a stated reason why it does not.
func TestEveryCaseHasItsGround(t *testing.T) { harness.CheckCases(t, nil, embeddedOnly) }
