package manual

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBy: the first matching rule counts. Most commands have none, and are run between control planes.
func TestBy(t *testing.T) {
	for text, want := range map[string]string{
		"make release REPOSITORY=x":                       Release,
		"make image IMAGE=x && docker push x":             Image,
		"helm push x oci://x":                             Release,
		"helm install x":                                  "",
		"kubectl krew install --manifest=x":               Release,
		"kubectl get pods -n shop":                        "",
		"mover send \\\n  --root /data":                   Mover,
		"kubectl migrate adopt web -n x --from kruise":    "e2e/move.TestAdoptKruise",
		"kubectl migrate run web \\\n  --volume data=any": "",
	} {
		r, is := By(Command{Page: "page.md", Text: text})
		if diff := cmp.Diff(want, r.By); diff != "" || is != (want != "") {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if r, is := By(Command{Page: "docs/tutorial.md", Text: "kubectl get pods"}); !is || r.By != "e2e/kind/tutorial.TestTutorial" {
		t.Errorf("a page that is run as a whole is run by %q", r.By)
	}
}

// TestOf: a test for which no page has a command is an error, because it would run nothing.
func TestOf(t *testing.T) {
	all, err := Of("../..", Release)
	if err != nil || len(all) < 5 {
		t.Errorf("got %v, %v", all, err)
	}
	if _, err := Of("../..", "none.TestNone"); err == nil {
		t.Error("no error")
	}
}
