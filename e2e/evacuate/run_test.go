package evacuate

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// home creates the namespace of the Evacuation, with what its Migrations need: an account with the rights of a mover, and
// the kubeconfig of west.
func (c *cluster) home() string {
	c.Helper()
	home := "t-" + rand.String(8)
	c.must(harness.Install())
	_, err := c.east.CoreV1().Namespaces().Create(c.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}, metav1.CreateOptions{})
	c.must(err)
	c.must(fixture.GrantMove(c.ctx, c.east, home, rbacv1.Subject{Kind: "ServiceAccount", Namespace: home, Name: "default"}))
	c.must(fixture.GrantMove(c.ctx, c.west, home, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "mover"}))
	path, err := harness.West().UserKubeconfig("mover")
	c.must(err)
	kubeconfig, err := os.ReadFile(path)
	c.must(err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "west"}, Data: map[string][]byte{"value": kubeconfig}}
	_, err = c.east.CoreV1().Secrets(home).Create(c.ctx, secret, metav1.CreateOptions{})
	c.must(err)
	return home
}

// allow changes the PodDisruptionBudget of db.
func (c *cluster) allow(unavailable string) {
	c.Helper()
	patch := []byte(`{"spec":{"maxUnavailable":` + unavailable + `}}`)
	_, err := c.east.PolicyV1().PodDisruptionBudgets(c.shop).Patch(c.ctx, "db", types.MergePatchType, patch, metav1.PatchOptions{})
	c.must(err)
}

// TestRun: a manager moves db, cache and web, which comes after db. While db stalls, web is held and cache moves. A pause
// begins nothing.
func TestRun(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	cache := fixture.App{Namespace: c.shop, Name: "cache", Replicas: 1, Claims: []string{"data"}, MaxUnavailable: harness.IntOrString("1")}
	c.must(cache.Deploy(c.ctx, c.east))
	home := c.home()
	create := []string{"evacuate", "-n", c.shop, "--create", "all", "--create-in", home, "--destination-secret", "west", "--service-account", "default"}
	c.migrate(0, create...)
	c.allow("0")
	admin, err := harness.Client(harness.East())
	c.must(err)
	c.patchMode(admin, home, api.EvacuationPause)
	harness.StartManager(t, home)
	c.await(admin, home, "it is paused", func(s api.EvacuationStatus) bool { return s.State == "Paused" })
	c.expectReplicas("cache", 0)
	c.patchMode(admin, home, api.EvacuationRun)
	c.await(admin, home, "db holds web, and cache has moved", func(s api.EvacuationStatus) bool {
		states := map[string]int{}
		for _, each := range s.Migrations {
			states[string(each.State)]++
		}
		return s.State == "Stalled" && states["Stalled"] == 1 && states["Held"] == 1 && states["Moved"] == 1
	})
	c.expectReplicas("cache", 1)
	c.expectReplicas("web", 0)
	c.allow("1")
	e := c.await(admin, home, "all have moved", func(s api.EvacuationStatus) bool { return s.State == "Completed" })
	if !meta.IsStatusConditionTrue(e.Status.Conditions, api.ConditionReady) || e.Status.Progress != "3/3" {
		t.Errorf("%+v", e.Status)
	}
	c.expectReplicas("db", 2)
	c.expectReplicas("web", 2)
	c.expectReport(home)
	if p := c.plan(0, "-n", c.shop); p.Summary.Idle != 3 || p.Summary.Moving != 0 {
		t.Errorf("a plan after that: %+v", p.Summary)
	}
}

// expectReport checks the report of all: each set, its downtime, and the remains in east.
func (c *cluster) expectReport(home string) {
	c.Helper()
	cmd := exec.CommandContext(c.ctx, harness.Program(c.T, "migrate"), "report", "evacuation/all", "-n", home, "-o", "json", "--kubeconfig", harness.East().Kubeconfig())
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("report: %v\n%s", err, out)
	}
	var report struct {
		Progress   string
		Migrations []struct {
			Source       struct{ Name string }
			State        string
			Moved, Total int
			DownSeconds  float64
		}
		Left []struct {
			Namespace string
			Empty     []string
		}
	}
	c.must(json.Unmarshal(out, &report))
	if report.Progress != "3/3" || len(report.Migrations) != 3 || len(report.Left) != 1 || report.Left[0].Namespace != c.shop || len(report.Left[0].Empty) != 3 {
		c.Errorf("the report is %s", out)
	}
	for _, m := range report.Migrations {
		if m.State != "Moved" || m.Moved != m.Total || m.Total == 0 || m.DownSeconds <= 0 {
			c.Errorf("of %s it reports %+v", m.Source.Name, m)
		}
	}
}

// expectReplicas checks how many replicas of a set west has.
func (c *cluster) expectReplicas(name string, want int32) {
	c.Helper()
	set, err := c.west.AppsV1().StatefulSets(c.shop).Get(c.ctx, name, metav1.GetOptions{})
	got := int32(0)
	if client.IgnoreNotFound(err) != nil {
		c.Fatal(err)
	}
	if err == nil {
		got = *set.Spec.Replicas
	}
	if got != want {
		c.Errorf("west has %d replicas of %s, want %d", got, name, want)
	}
}

func (c *cluster) patchMode(admin client.Client, home string, mode api.EvacuationMode) {
	c.Helper()
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "all"}}
	c.must(admin.Patch(c.ctx, e, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"`+mode+`"}}`))))
}

// await polls the Evacuation until its status is as expected.
func (c *cluster) await(admin client.Client, home, what string, expected func(api.EvacuationStatus) bool) *api.Evacuation {
	c.Helper()
	e := &api.Evacuation{}
	err := wait.PollUntilContextCancel(c.ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Namespace: home, Name: "all"}, e)
		return err == nil && expected(e.Status), err
	})
	if err != nil {
		c.Fatalf("%s: %v; it is %+v", what, err, e.Status)
	}
	return e
}
