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

// Chosen reports whether the tests run on kind. If so, it selects the tests of onKind, or the requested share of them,
// unless -test.run is set. Call it before the tests run.
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

// share returns every N-th of the cases, sorted by name, from the K-th on, if K/N is requested.
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
