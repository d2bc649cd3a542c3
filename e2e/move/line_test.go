package move

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestLine: two of five Migrations to one cluster are active at once. The others report their position in the
// queue, in order of creation. A refused Migration takes no position, and is queued once it is fixed. A
// restarted manager counts the active ones, and all Migrations complete.
func TestLine(t *testing.T) {
	const most = 2
	n := startTenancy(t, "line", "--active-per-destination", "2")
	refused := n.inLine(t, func(s *api.MigrationSpec) { s.ServiceAccountName = "weak" })
	refused.Await(n.client, api.ConditionAccepted, metav1.ConditionFalse)
	slow := func(s *api.MigrationSpec) { s.Handoff.MinReadySeconds = new(int32(3600)) }
	active := []*move{n.inLine(t, slow), n.inLine(t, slow)}
	for _, v := range active {
		v.Eventually("it has begun", func(ctx context.Context) (bool, error) {
			err := n.client.Get(ctx, client.ObjectKeyFromObject(v.Migration), v.Migration)
			return v.Migration.Status.Handoff != nil, err
		})
	}
	queued := []*move{n.inLine(t, nil), n.inLine(t, nil)}
	n.expectLine(queued)
	n.manager.Kill()
	n.manager.Start()
	refused.patch(n.client, `{"spec":{"serviceAccountName":"default"}}`)
	queued = append(queued, refused)
	n.expectLine(queued)
	for _, v := range active {
		v.patch(n.client, `{"spec":{"handoff":{"minReadySeconds":0}}}`)
	}
	refused.Eventually("all have arrived", func(ctx context.Context) (bool, error) {
		all := &api.MigrationList{}
		if err := n.client.List(ctx, all); err != nil {
			return false, err
		}
		begun, completed := 0, 0
		for _, m := range all.Items {
			switch {
			case meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted):
				completed++
			case m.Status.Baseline != nil:
				begun++
			}
		}
		if begun > most {
			return false, fmt.Errorf("%d are active at once", begun)
		}
		return completed == len(active)+len(queued), nil
	})
	for _, v := range append(active, queued...) {
		v.ExpectMovedCleanly()
	}
}

// inLine creates a move from one namespace to another with its Migration.
func (n *tenancy) inLine(t *testing.T, change func(*api.MigrationSpec)) *move {
	t.Helper()
	v := newMove(t, harness.Usual(1), n.toNewNamespace)
	v.Managed()
	if change != nil {
		change(&v.Migration.Spec)
	}
	v.Must(n.client.Create(v.Ctx, v.Migration))
	return v
}

func (v *move) patch(c client.Client, patch string) {
	v.T.Helper()
	v.Must(c.Patch(v.Ctx, v.Migration, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// expectLine waits until exactly these Migrations report their position in the queue.
func (n *tenancy) expectLine(queued []*move) {
	n.t.Helper()
	slices.SortFunc(queued, func(a, b *move) int {
		return cmp.Or(a.Migration.CreationTimestamp.Compare(b.Migration.CreationTimestamp.Time), cmp.Compare(a.App.Namespace, b.App.Namespace))
	})
	for i, v := range queued {
		want := fmt.Sprintf("%s of %d in line for cluster local: 2 Migrations to it are active, at most 2 at once", []string{"first", "second", "third"}[i], len(queued))
		said := ""
		defer func() {
			if v.T.Failed() {
				v.T.Logf("%s says %q", v.App.Namespace, said)
			}
		}()
		v.Eventually("it is "+want, func(ctx context.Context) (bool, error) {
			m := &api.Migration{}
			if err := n.client.Get(ctx, client.ObjectKeyFromObject(v.Migration), m); err != nil {
				return false, err
			}
			if found := meta.FindStatusCondition(m.Status.Conditions, api.ConditionProgressing); found != nil {
				said = found.Reason + ": " + found.Message
			}
			begun := m.Status.Baseline != nil || meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionStalled)
			return !begun && strings.HasPrefix(said, api.ReasonQueued) && strings.HasSuffix(said, want), nil
		})
	}
}
