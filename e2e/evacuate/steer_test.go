package evacuate

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// course is the part of the state of an Evacuation that the tests read.
type course struct {
	State                   string
	ArrivedOrdinals         int
	LeftSeconds             *float64
	PlannedSeconds          float64
	Started                 *time.Time
	MeasuredHandoffs, Stuck int
	Migrations              []struct {
		Migration, State string
		Moved, Total     int
		Planned          *struct{ EndSeconds int }
	}
}

// course reads the state of an Evacuation by the command.
func (c *cluster) course(home string, code int) (r course) {
	c.Helper()
	c.must(json.Unmarshal([]byte(c.here(code, "status", "evacuation/all", "-n", home, "-o", "json")), &r))
	return r
}

// awaitReplicas waits until west has that number of replicas of a set, or more.
func (c *cluster) awaitReplicas(name string, least int32) {
	c.Helper()
	err := wait.PollUntilContextCancel(c.ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		sets, err := c.west.AppsV1().StatefulSets(c.shop).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err == nil && len(sets.Items) == 1 && *sets.Items[0].Spec.Replicas >= least, err
	})
	if err != nil {
		c.Fatalf("west has not %d replicas of %s: %v", least, name, err)
	}
}

// TestSteer pauses all Migrations in the middle, rolls them back, and resumes them to the end. The one that had completed
// stays at the destination, and the rollback names its way back. One that a user pauses before its turn stays paused.
func TestSteer(t *testing.T) {
	t.Parallel()
	c := deploy(t)
	one := harness.IntOrString("1")
	for _, app := range []fixture.App{
		{Namespace: c.shop, Name: "cache", Replicas: 1, Claims: []string{"data"}, MaxUnavailable: one},
		{Namespace: c.shop, Name: "queue", Replicas: 12, Claims: []string{"data"}, MaxUnavailable: one},
	} {
		c.must(app.Deploy(c.ctx, c.east))
	}
	home := c.home()
	c.migrate(0, "evacuate", "-n", c.shop, "--create", "all", "--create-in", home, "--destination-secret", "west", "--service-account", "default")
	c.allow("0") // db stalls, and web waits for it
	admin, err := harness.Client(harness.East())
	c.must(err)
	harness.StartManager(t, home)
	c.await(admin, home, "cache has moved", func(s api.EvacuationStatus) bool { return s.Moved == 1 })
	c.awaitReplicas("queue", 1)

	c.here(0, "pause", "evacuation/all", "-n", home)
	c.await(admin, home, "it is paused", func(s api.EvacuationStatus) bool { return s.State == api.EvacuationPaused && s.Moving == 0 })
	r := c.course(home, 0)
	if r.LeftSeconds != nil || r.PlannedSeconds == 0 || r.Started == nil || r.ArrivedOrdinals < 2 || r.ArrivedOrdinals > 12 {
		t.Errorf("while it is paused: %+v", r)
	}
	back := c.here(0, "rollback", "evacuation/all", "-n", home)
	if !strings.Contains(back, "1 of its 4 Migrations") || !strings.Contains(back, " plan cache -n "+c.shop) {
		t.Errorf("the way back of cache: %s", back)
	}
	c.await(admin, home, "it is rolled back", func(s api.EvacuationStatus) bool { return s.State == api.EvacuationRolledBack })
	c.expectReplicas("queue", 0)
	c.expectReplicas("cache", 1)
	c.here(0, "status", "evacuation/all", "-n", home, "-w", "--timeout", "1m")

	web := c.migrationOf(admin, home, "web")
	c.here(anyCode, "pause", web, "-n", home) // no process drives it yet
	c.allow("1")
	c.here(0, "resume", "evacuation/all", "-n", home)
	c.await(admin, home, "all have moved but web, which a user has paused", func(s api.EvacuationStatus) bool {
		return s.Moved == 3 && strings.Contains(messageOf(s, web), "paused by a user")
	})
	c.expectReplicas("queue", 12)
	c.expectReplicas("web", 0)
	c.expectForecast(home)
}

// expectForecast checks that the page and the picture have the planned and the real times.
func (c *cluster) expectForecast(home string) {
	c.Helper()
	if svg := c.here(0, "report", "evacuation/all", "-n", home, "-o", "svg"); !strings.Contains(svg, `class="planned"`) || !strings.Contains(svg, `class="destination"`) {
		c.Errorf("the picture lacks a time:\n%s", svg)
	}
	if html := c.here(0, "report", "evacuation/all", "-n", home, "-o", "html"); !strings.Contains(html, "Planned") {
		c.Errorf("the page lacks the plan:\n%s", html)
	}
	text := c.here(3, "status", "evacuation/all", "-n", home)
	c.Log(text)
	if !strings.Contains(text, "planned") || !strings.Contains(text, c.shop+"/queue") {
		c.Errorf("the state is\n%s", text)
	}
}

// migrationOf returns the name of the Migration of a set.
func (c *cluster) migrationOf(admin client.Client, home, set string) string {
	c.Helper()
	var all api.MigrationList
	c.must(admin.List(c.ctx, &all, client.InNamespace(home)))
	for i := range all.Items {
		if all.Items[i].Spec.Source.Name == set {
			return all.Items[i].Name
		}
	}
	c.Fatalf("%s has no Migration", set)
	return ""
}

// messageOf returns the message of a Migration.
func messageOf(s api.EvacuationStatus, name string) string {
	for _, each := range s.Migrations {
		if each.Name == name {
			return each.Message
		}
	}
	return ""
}
