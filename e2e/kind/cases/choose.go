package cases

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

// onKindVariable is set by make e2e-kind: to K/N for the K-th of N shares of the cases, or to any other value for all.
const onKindVariable = "E2E_KIND"

// Chosen says whether the tests are to run on kind. Then it is these that run, or the share of them
// that is asked for, unless others are asked for by name. It is called before the tests are run.
func Chosen(onKind []string) (bool, error) {
	asked := os.Getenv(onKindVariable)
	if asked == "" {
		return false, nil
	}
	chosen, err := share(onKind, asked)
	if err != nil {
		return false, err
	}
	flag.Parse()
	if run := flag.Lookup("test.run"); run.Value.String() == "" {
		return true, run.Value.Set("^(" + strings.Join(chosen, "|") + ")$")
	}
	return true, nil
}

// share returns every N-th of the cases by their names, from the K-th on, where K/N is asked for.
func share(onKind []string, asked string) ([]string, error) {
	if !strings.Contains(asked, "/") {
		return onKind, nil
	}
	var k, n int
	if _, err := fmt.Sscanf(asked, "%d/%d", &k, &n); err != nil || k < 1 || k > n || n > len(onKind) {
		return nil, fmt.Errorf("%s=%s: want K/N, the K-th of at most %d shares", onKindVariable, asked, len(onKind))
	}
	var chosen []string
	for i, name := range slices.Sorted(slices.Values(onKind)) {
		if i%n == k-1 {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}
