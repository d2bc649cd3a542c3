package evacuate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestDestinationTooSmall: two sets fit a quota of the destination alone, and not together. The plan names the quota, and
// the Evacuation is created in mode Pause. Without the namespace, each set is refused.
func TestDestinationTooSmall(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	p := plan{}
	c.must(json.Unmarshal([]byte(c.here(3, "evacuate", "-n", c.shop, "--to-kubeconfig", harness.West().Kubeconfig(), "--shared", "data", "-o", "json")), &p))
	if len(p.Causes) != 1 || p.Causes[0].Reason != api.ReasonNamespaceMissing || len(p.Causes[0].StatefulSets) != 2 || p.Summary.Moving != 0 {
		t.Errorf("without the namespace: %+v", p)
	}
	_, err := c.west.CoreV1().Namespaces().Create(c.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.shop}}, metav1.CreateOptions{})
	c.must(err)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}}}
	_, err = c.west.CoreV1().ResourceQuotas(c.shop).Create(c.ctx, quota, metav1.CreateOptions{})
	c.must(err)
	c.must(wait.PollUntilContextCancel(c.ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		found, err := c.west.CoreV1().ResourceQuotas(c.shop).Get(ctx, "small", metav1.GetOptions{})
		return err == nil && len(found.Status.Used) > 0, err
	}))
	home := c.home()
	out := c.migrate(3, "evacuate", "-n", c.shop, "--create", "all", "--create-in", home, "--destination-secret", "west", "--service-account", "default")
	if !strings.Contains(out, "quota "+c.shop+"/small: pods") {
		t.Errorf("the plan does not name the quota:\n%s", out)
	}
	e := &api.Evacuation{}
	admin, err := harness.Client(harness.East())
	c.must(err)
	c.must(admin.Get(c.ctx, client.ObjectKey{Namespace: home, Name: "all"}, e))
	if e.Spec.Mode != api.EvacuationPause || len(e.Spec.Migrations) != 2 {
		t.Errorf("it is created as %+v", e.Spec)
	}
}

// TestInTheMiddle: a set and a Migration are deleted, and a set appears, before all have moved. The others move, and a
// second Evacuation over the same sets is refused.
func TestInTheMiddle(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	one := harness.IntOrString("1")
	cache := fixture.App{Namespace: c.shop, Name: "cache", Replicas: 1, Claims: []string{"data"}, MaxUnavailable: one}
	c.must(cache.Deploy(c.ctx, c.east))
	home := c.home()
	c.migrate(0, c.creating("all", home)...)
	c.migrate(3, c.creating("twice", home)...)
	admin, err := harness.Client(harness.East())
	c.must(err)
	c.patchMode(admin, home, api.EvacuationPause)

	var all api.MigrationList
	c.must(admin.List(c.ctx, &all, client.InNamespace(home)))
	for i := range all.Items {
		if all.Items[i].Spec.Source.Name == "web" {
			c.must(admin.Delete(c.ctx, &all.Items[i]))
		}
	}
	c.must(c.east.AppsV1().StatefulSets(c.shop).Delete(c.ctx, "cache", metav1.DeleteOptions{}))
	late := fixture.App{Namespace: c.shop, Name: "late", Replicas: 1, Claims: []string{"data"}, MaxUnavailable: one}
	c.must(late.Deploy(c.ctx, c.east))
	twice := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "twice"}}
	for i := range all.Items {
		twice.Spec.Migrations = append(twice.Spec.Migrations, api.EvacuatedMigration{Name: all.Items[i].Name})
	}
	c.must(admin.Create(c.ctx, twice))

	c.patchMode(admin, home, api.EvacuationRun)
	harness.StartManager(t, home)
	c.await(admin, home, "db has moved, and the others have not", func(s api.EvacuationStatus) bool {
		return s.State == api.EvacuationStalled && s.Moved == 1 && s.Stalled == 2
	})
	c.expectReplicas("db", 2)
	c.expectReplicas("web", 0)
	c.expectReplicas("late", 0)
	if report := c.here(0, "report", "evacuation/all", "-n", home); !strings.Contains(report, "late") {
		t.Errorf("the report does not list the set that appeared:\n%s", report)
	}
	c.must(admin.Get(c.ctx, client.ObjectKeyFromObject(twice), twice))
	for _, each := range twice.Status.Migrations {
		if each.State != api.EvacuatedMissing {
			t.Errorf("of the second Evacuation, %+v", each)
		}
	}
	c.here(3, "status", "evacuation/all", "-n", home)
}

// TestHundreds: an Evacuation of 1,000 Migrations, each of which waits for four, is below the limit of etcd with its status.
func TestHundreds(t *testing.T) {
	t.Parallel()
	c := &cluster{T: t}
	ctx, cancel := context.WithTimeout(t.Context(), harness.TimeLimit())
	t.Cleanup(cancel)
	c.ctx = ctx
	c.connect()
	home := c.home()
	admin, err := harness.Client(harness.East())
	c.must(err)
	const entries, limit = 1000, 3 << 19 // etcd's default of 1.5 MiB
	name := func(i int) string { return fmt.Sprintf("x%062d", i) }
	e := &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "all"}}
	for i := range entries {
		entry := api.EvacuatedMigration{Name: name(i), Planned: &api.PlannedMove{BeginSeconds: int64(i), EndSeconds: 100000, Ordinals: 5}}
		for k := range min(i, 4) {
			entry.After = append(entry.After, name(i-1-k))
		}
		e.Spec.Migrations = append(e.Spec.Migrations, entry)
	}
	c.must(admin.Create(c.ctx, e))
	harness.StartManager(t, home)
	c.await(admin, home, "all are missing", func(s api.EvacuationStatus) bool { return s.Stalled == entries })
	c.must(admin.Get(c.ctx, client.ObjectKeyFromObject(e), e))
	data, err := json.Marshal(e)
	c.must(err)
	t.Logf("an Evacuation of %d Migrations takes %d KiB of %d", entries, len(data)>>10, limit>>10)
	if len(data) > limit*9/10 || len(e.ManagedFields) == 0 {
		t.Errorf("it takes %d bytes of %d, with %d managed fields", len(data), limit, len(e.ManagedFields))
	}
}
