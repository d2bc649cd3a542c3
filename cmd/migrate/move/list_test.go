package move

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
)

// several serves a migration in each of four states, in two namespaces.
func several(t *testing.T) *apitest.Server {
	t.Helper()
	named := func(m *api.Migration, namespace, name string) *api.Migration {
		m.Namespace, m.Name, m.CreationTimestamp = namespace, name, metav1.NewTime(commandtest.Noon.Add(-3*time.Hour))
		return m
	}
	return apitest.Serve(t, servedToMove(api.GroupVersion),
		named(movetest.InFlight(), "shop", "web"), named(movetest.Stalled(), "shop", "database"), named(movetest.Completed(), "shop", "queue"), named(movetest.RolledBack(), "store", "cache"))
}

// TestV8List: status without a name lists the migrations of a namespace, or of all, like kubectl get.
func TestV8List(t *testing.T) {
	kubeconfig := several(t).Kubeconfig(t)
	run := func(args ...string) (stdout, stderr string, code int) {
		c := newConsole(append([]string{"status", "--kubeconfig", kubeconfig}, args...)...)
		code = c.Run(t)
		return c.Stdout.String(), c.Stderr.String(), code
	}
	out, _, code := run("-n", "shop")
	const want = `NAME       STATE     MOVED   NOW                                                        DESTINATION     AGE
database   stalled   1/4     ordinal 2 has been at AwaitReadiness for longer than 10s   west/shop/web   3h
queue      moved     4/4     every ordinal that was asked for runs at the destination   west/shop/web   3h
web        moving    1/4     waiting until pod shop/web-2 in cluster west is Ready      west/shop/web   3h
`
	if code != command.ExitDone || out != want {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	out, _, _ = run("-A", "-o", "wide")
	if lines := strings.Split(out, "\n"); !strings.HasPrefix(lines[0], "NAMESPACE   NAME") || !strings.Contains(out, "store       cache      rolled back   0/4") || !strings.Contains(out, "Migration store/cache") {
		t.Errorf("all, wide:\n%s", out)
	}
	out, _, _ = run("-A", "-o", "json")
	var list api.MigrationList
	if err := json.Unmarshal([]byte(out), &list); err != nil || list.Kind != "MigrationList" || len(list.Items) != 4 || list.Items[0].Kind != "Migration" {
		t.Errorf("%v: %s", err, out)
	}
	out, stderr, code := run("-n", "empty")
	if code != command.ExitDone || out != "" || stderr != "No migration found in namespace empty of cluster east.\n" {
		t.Errorf("exit code %d: %q, %q", code, out, stderr)
	}
	for want, args := range map[string][]string{
		"-w shows one migration: give its name":         {"-w"},
		"-o wide is for the list":                       {"web", "-o", "wide"},
		"--all-namespaces is for the list":              {"web", "-A"},
		"--namespace and --all-namespaces exclude each": {"-A", "-n", "shop"},
		"takes one migration, 2 were given":             {"web", "db"},
	} {
		if _, stderr, code := run(args...); code != command.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}

// TestV8ListOnTerminal: on a narrow terminal the text is wrapped, and nothing is truncated.
func TestV8ListOnTerminal(t *testing.T) {
	kubeconfig := several(t).Kubeconfig(t)
	for _, width := range []int{80, 100} {
		c := newConsole("status", "--kubeconfig", kubeconfig, "-n", "shop", "--color", "never")
		shown := c.OnTerminal(width)
		if code := c.Run(t); code != command.ExitDone {
			t.Fatalf("exit code %d: %s", code, c.Stderr)
		}
		for line := range strings.SplitSeq(shown.Shown(), "\n") {
			if len([]rune(line)) >= width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if words := strings.Join(strings.Fields(shown.Shown()), " "); !strings.Contains(words, "AwaitReadiness") || strings.Contains(words, "...") {
			t.Errorf("%d columns:\n%s", width, shown.Shown())
		}
	}
}

// TestV8DidYouMean: for a mistyped name the error suggests the similar one.
func TestV8DidYouMean(t *testing.T) {
	kubeconfig := several(t).Kubeconfig(t)
	c := newConsole("status", "databse", "-n", "shop", "--kubeconfig", kubeconfig)
	if code := c.Run(t); code != command.ExitFailure || !strings.Contains(c.Stderr.String(), "no migration shop/databse in cluster east; did you mean database?\n") {
		t.Errorf("exit code %d: %s", code, c.Stderr)
	}
	_, objects := left(false)
	set := apitest.Serve(t, servedToMove(), objects...)
	c = newConsole("plan", "wbe", "-n", "shop", "--to-namespace", "store", "--kubeconfig", set.Kubeconfig(t))
	if c.Run(t); !strings.Contains(c.Stderr.String(), "no StatefulSet shop/wbe in cluster east; did you mean web?\n") {
		t.Errorf("%s%s", c.Stderr, c.Stdout)
	}
}
