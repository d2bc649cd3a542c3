package evacuate

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/records"
)

// creating returns the command that plans the sets of c.shop, and writes an Evacuation.
func (c *cluster) creating(name, home string, further ...string) []string {
	return append([]string{"evacuate", "-n", c.shop, "--create", name, "--create-in", home, "--destination-secret", "west", "--service-account", "default", "-o", "json"}, further...)
}

// TestClaimed: a set that a paused Migration of a user moves already is named before anything is written, and so are
// those of another Evacuation, wherever that is. A Secret that does not exist, and a wave of no set, are, too.
func TestClaimed(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	home, other := c.home(), c.home()
	admin, err := harness.Client(harness.East())
	c.must(err)
	c.migrate(1, append(c.creating("all", home), "--destination-secret", "missing")...)
	c.migrate(1, append(c.creating("all", home), "--service-account", "missing")...)
	c.migrate(2, c.creating("all", home, "--wave", "wbe=1")...)
	c.expectMigrations(admin, home, 0)

	mine := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: c.shop, Name: "mine"}}
	mine.Spec.Mode, mine.Spec.Source = api.ModePause, api.SourceReference{Name: "web"}
	mine.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west", Key: "value"}
	c.must(admin.Create(c.ctx, mine))
	p := c.expectClaimed(c.migrate(3, c.creating("all", home)...), "Migration "+c.shop+"/mine ", "web")
	if p.Summary.Moving != 1 {
		t.Errorf("db does not move: %+v", p)
	}
	c.expectMigrations(admin, home, 1)
	c.must(admin.Delete(c.ctx, mine))
	c.migrate(0, "evacuate", "-n", c.shop, "-l", "app=web", "--create", "rest", "--create-in", home, "--destination-secret", "west", "--service-account", "default")
	p = c.expectClaimed(c.migrate(3, c.creating("all", other)...), "Migration "+home+"/", "db", "web")
	if p.Summary.Moving != 0 {
		t.Errorf("of another Evacuation: %+v", p)
	}
	c.expectMigrations(admin, other, 0)
}

// expectClaimed checks that these sets cannot move, because a Migration moves each of them already.
func (c *cluster) expectClaimed(document, by string, sets ...string) (p plan) {
	c.Helper()
	c.must(json.Unmarshal([]byte(document), &p))
	var refused []string
	for _, cause := range p.Causes {
		for _, set := range cause.StatefulSets {
			if cause.Reason == api.ReasonHeldByAnother {
				refused = append(refused, set.Name)
			}
		}
	}
	if strings.Join(refused, ",") != strings.Join(sets, ",") || !strings.Contains(document, by) {
		c.Errorf("claimed by %q are %q, want %q:\n%s", by, refused, sets, document)
	}
	return p
}

// expectMigrations checks how many Migrations a namespace has.
func (c *cluster) expectMigrations(admin client.Client, namespace string, want int) {
	c.Helper()
	var all api.MigrationList
	c.must(admin.List(c.ctx, &all, client.InNamespace(namespace)))
	if len(all.Items) != want {
		c.Errorf("namespace %s has %d Migrations, want %d", namespace, len(all.Items), want)
	}
}

// TestDeleted: when an Evacuation is deleted in the middle, the set under way moves on to its end, and the next one does
// not begin. The same command then writes an Evacuation of the rest.
func TestDeleted(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	home := c.home()
	admin, err := harness.Client(harness.East())
	c.must(err)
	c.migrate(0, c.creating("all", home)...)
	harness.StartManager(t, home)
	c.await(admin, home, "db is under way", func(s api.EvacuationStatus) bool { return s.Moving == 1 })
	c.must(admin.Delete(c.ctx, &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "all"}}))
	db := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: c.migrationOf(admin, home, "db")}}
	c.must(wait.PollUntilContextCancel(c.ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKeyFromObject(db), db)
		return records.Completed(db) == api.ReasonMoved, err
	}))
	if err := admin.Get(c.ctx, client.ObjectKey{Namespace: home, Name: "all"}, &api.Evacuation{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Evacuation: %v", err)
	}
	c.expectReplicas("db", 2)
	c.expectReplicas("web", 0)
	c.here(1, "status", "evacuation/all", "-n", home)

	c.migrate(0, c.creating("all", home)...)
	c.await(admin, home, "web has moved, too", func(s api.EvacuationStatus) bool { return s.State == api.EvacuationCompleted && s.Total == 1 })
	c.expectReplicas("web", 2)
	c.expectMigrations(admin, home, 2)
}

// TestWrittenAgain: while an Evacuation exists, the same command writes nothing. When it is deleted in the middle, the
// command writes one that lists the set under way as well.
func TestWrittenAgain(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	queue := fixture.App{Namespace: c.shop, Name: "queue", Replicas: 12, Claims: []string{"data"}, MaxUnavailable: harness.IntOrString("1")}
	c.must(queue.Deploy(c.ctx, c.east))
	home := c.home()
	admin, err := harness.Client(harness.East())
	c.must(err)
	c.migrate(0, c.creating("all", home)...)
	c.migrate(1, c.creating("all", home)...)
	c.expectMigrations(admin, home, 3)
	harness.StartManager(t, home)
	c.awaitReplicas("queue", 1)
	c.must(admin.Delete(c.ctx, &api.Evacuation{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "all"}}))
	c.migrate(0, c.creating("all", home)...)
	e := c.await(admin, home, "all have moved", func(s api.EvacuationStatus) bool { return s.State == api.EvacuationCompleted })
	if name := c.migrationOf(admin, home, "queue"); !slices.ContainsFunc(e.Spec.Migrations, func(m api.EvacuatedMigration) bool { return m.Name == name }) {
		t.Errorf("queue was under way, and is not listed: %+v", e.Spec.Migrations)
	}
	c.expectReplicas("queue", 12)
	c.here(1, "rollback", "evacuation/all", "-n", home)
	c.expectReplicas("queue", 12)
}
