package cases

import (
	"flag"
	"os"
	"strings"
)

// onKindVariable is set by make e2e-kind.
const onKindVariable = "E2E_KIND"

// Chosen says whether the tests are to run on kind. Then it is these that run, unless others
// are asked for by name. It is called before the tests are run.
func Chosen(onKind []string) (bool, error) {
	if os.Getenv(onKindVariable) == "" {
		return false, nil
	}
	flag.Parse()
	if run := flag.Lookup("test.run"); run.Value.String() == "" {
		return true, run.Value.Set("^(" + strings.Join(onKind, "|") + ")$")
	}
	return true, nil
}
