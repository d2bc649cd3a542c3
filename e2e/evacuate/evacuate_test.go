package evacuate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// cluster holds the applications of a test in east: db and web, which uses db, in one namespace; ledger, which cannot move,
// and report, which uses ledger, in another one.
type cluster struct {
	*testing.T
	ctx        context.Context //nolint:containedctx // a test has one context, and every helper needs it
	shop, bank string
	east, west kubernetes.Interface
}

func deploy(t *testing.T) *cluster {
	t.Helper()
	harness.Program(t, "migrate") // the time to build it is not the test's
	ctx, cancel := context.WithTimeout(t.Context(), 2*harness.TimeLimit())
	t.Cleanup(cancel)
	c := &cluster{T: t, ctx: ctx, shop: "t-" + rand.String(8), bank: "t-" + rand.String(8)}
	c.connect()
	one, none := harness.IntOrString("1"), harness.IntOrString("0")
	env := func(name, value string) func(*appsv1.StatefulSet) {
		return func(set *appsv1.StatefulSet) {
			set.Labels = map[string]string{"app": set.Name}
			set.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: name, Value: value}}
		}
	}
	for _, app := range []fixture.App{
		{Namespace: c.shop, Name: "db", Replicas: 2, Claims: []string{"data"}, MaxUnavailable: one},
		{Namespace: c.shop, Name: "web", Replicas: 2, Claims: []string{"data"}, MaxUnavailable: one, Adapt: env("DB_HOST", "db")},
		{Namespace: c.bank, Name: "ledger", Replicas: 1, Claims: []string{"data"}, MaxUnavailable: none},
		{Namespace: c.bank, Name: "report", Replicas: 1, Claims: []string{"data"}, MaxUnavailable: one, Adapt: env("FROM", "ledger."+c.bank+".svc:80")},
	} {
		c.must(app.Deploy(ctx, c.east))
	}
	return c
}

// connect creates a client for each cluster.
func (c *cluster) connect() {
	c.east, c.west = kubernetes.NewForConfigOrDie(harness.East().RESTConfig()), kubernetes.NewForConfigOrDie(harness.West().RESTConfig())
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// migrate runs a command between the two clusters, and returns its output.
func (c *cluster) migrate(code int, args ...string) string {
	c.Helper()
	return c.here(code, append(args, "--to-kubeconfig", harness.West().Kubeconfig(), "--create-namespace", "--shared", "data")...)
}

// anyCode stands for an exit code that the test does not check.
const anyCode = -1

// here runs a command in east, and returns its output.
func (c *cluster) here(code int, args ...string) string {
	c.Helper()
	args = append(args, "--kubeconfig", harness.East().Kubeconfig())
	cmd := exec.CommandContext(c.ctx, harness.Program(c.T, "migrate"), args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	c.must(child.Start(cmd))
	got, err := 0, cmd.Wait()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		got = exit.ExitCode()
	} else if err != nil {
		c.Fatal(err)
	}
	if got != code && code != anyCode {
		c.Fatalf("migrate %s ended with %d, want %d:\n%s%s", strings.Join(args, " "), got, code, out.String(), errOut.String())
	}
	return out.String()
}

// room is a resource that the destination needs.
type room struct {
	What, Free string
	Fits       bool
}

// plan is the part of a plan that the tests read.
type plan struct {
	Summary struct {
		StatefulSets, Moving, Refused, Held, Idle, Ordinals int
		Whole                                               bool
	}
	StatefulSets []struct {
		Name, Namespace          string
		After                    []struct{ Name, Why string }
		BeginSeconds, EndSeconds float64
		DownSeconds              float64
		Measured                 int
		Handoffs                 []struct{ Ordinal int }
	}
	Causes []struct {
		Reason       string
		StatefulSets []struct{ Namespace, Name string }
	}
	Held []struct {
		Name string
		On   struct{ Name string }
	}
	Rooms    []room
	Unplaced []struct{ Name, Why string }
	Notes    []string
}

func (c *cluster) plan(code int, args ...string) (p plan) {
	c.Helper()
	c.must(json.Unmarshal([]byte(c.migrate(code, append([]string{"evacuate", "-o", "json"}, args...)...)), &p))
	return p
}

// TestEvacuate plans four applications, of which one cannot move and holds the one that uses it. It moves one of the others,
// and the next plan expects its times.
func TestEvacuate(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	both := c.shop + "," + c.bank
	p := c.plan(3, "-n", both)
	if s := p.Summary; s.StatefulSets != 4 || s.Moving != 2 || s.Refused != 1 || s.Held != 1 || s.Ordinals != 4 || s.Whole {
		t.Fatalf("%+v", p)
	}
	expectOrder(t, p)
	c.expectNothingWritten()
	c.migrate(0, "run", "db", "-n", c.shop)
	c.expectTimes()
}

// expectOrder checks the order of the plan, its obstacles, times and rooms.
func expectOrder(t *testing.T, p plan) {
	t.Helper()
	db, web := p.StatefulSets[0], p.StatefulSets[1]
	if db.Name != "db" || web.Name != "web" || web.BeginSeconds < db.EndSeconds || len(web.After) != 1 || web.After[0].Name != "db" || !strings.HasPrefix(web.After[0].Why, "env DB_HOST") {
		t.Errorf("the order is %+v", p.StatefulSets)
	}
	if len(p.Causes) != 1 || p.Causes[0].Reason != api.ReasonBudgetZero || p.Causes[0].StatefulSets[0].Name != "ledger" || p.Held[0].Name != "report" || p.Held[0].On.Name != "ledger" {
		t.Errorf("the obstacles are %+v, and %+v are held", p.Causes, p.Held)
	}
	if db.Measured != 0 || len(p.Unplaced) > 0 || len(p.Notes) > 0 || !slices.ContainsFunc(p.Rooms, func(r room) bool { return r.What == "pods" && r.Free != "" && r.Fits }) {
		t.Errorf("times, rooms and notes: %+v", p)
	}
}

// expectNothingWritten checks that the plan has left no trace in either cluster.
func (c *cluster) expectNothingWritten() {
	c.Helper()
	for _, namespace := range []string{c.shop, c.bank} {
		records, err := c.east.CoreV1().ConfigMaps(namespace).List(c.ctx, metav1.ListOptions{LabelSelector: "migration.sliceshift.io/record"})
		c.must(err)
		if len(records.Items) > 0 {
			c.Errorf("a plan left %d records in namespace %s", len(records.Items), namespace)
		}
		if _, err := c.west.CoreV1().Namespaces().Get(c.ctx, namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			c.Errorf("namespace %s in west: %v", namespace, err)
		}
	}
}

// expectTimes checks, when db has moved, that the plan of web is of the measured times, as text and as a page.
func (c *cluster) expectTimes() {
	c.Helper()
	p := c.plan(0, "-n", c.shop)
	if p.Summary.Moving != 1 || p.Summary.Idle != 1 || p.StatefulSets[0].Name != "web" || p.StatefulSets[0].Measured != 2 || p.StatefulSets[0].DownSeconds <= 0 {
		c.Errorf("web is expected with %+v", p)
	}
	text := c.migrate(0, "evacuate", "-n", c.shop, "-l", "app=web", "--independent", "web")
	c.Log(text)
	for _, want := range []string{"1 of 1 StatefulSet can move", "█", "NEEDED IN"} {
		if !strings.Contains(text, want) {
			c.Errorf("the plan lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "assumed") {
		c.Errorf("the times are assumed:\n%s", text)
	}
	if html := c.migrate(0, "evacuate", "-n", c.shop, "-o", "html"); !strings.Contains(html, "</svg>") {
		c.Errorf("the page has no chart:\n%s", html)
	}
	if svg := c.migrate(0, "evacuate", "-n", c.shop, "-o", "svg"); !strings.HasPrefix(svg, "<svg") {
		c.Errorf("no picture:\n%s", svg)
	}
}

// TestEvacuateNothing: a namespace without StatefulSets, and the same cluster twice.
func TestEvacuateNothing(t *testing.T) {
	t.Parallel()
	c := &cluster{T: t, ctx: t.Context()}
	if p := c.plan(0, "-n", "default", "-l", "app="+rand.String(8)); p.Summary.StatefulSets != 0 {
		t.Errorf("%+v", p)
	}
	cmd := exec.CommandContext(t.Context(), harness.Program(t, "migrate"), "evacuate", "-A", "--kubeconfig", harness.East().Kubeconfig(), "--to-kubeconfig", harness.East().Kubeconfig())
	out, err := cmd.CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); !is || exit.ExitCode() != 2 || !strings.Contains(string(out), "are the same cluster") {
		t.Errorf("the same cluster: %v\n%s", err, out)
	}
}
