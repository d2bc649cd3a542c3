package pages

import (
	"testing"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

// embeddedOnly are the cases that are not run again on kind, with the reason.
var embeddedOnly = map[string]string{
	"TestEveryCommandOfThePages":  "what each command does on kubelets, the cases of e2e/move and the tutorial show",
	"TestCommandsElsewhereAreRun": "it reads files of the repository",
	"TestEveryCaseHasItsGround":   "it reads files of the repository",
}

// TestEveryCaseHasItsGround: whoever adds a case says whether it runs on kind, or why not.
func TestEveryCaseHasItsGround(t *testing.T) { harness.CheckCases(t, nil, embeddedOnly) }
