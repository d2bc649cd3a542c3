package move

import (
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

const (
	// successorVariable sets the number of Migrations under way when their manager is killed. The default is
	// fewSucceeded.
	successorVariable = "SLICESHIFT_SUCCESSOR_MIGRATIONS"
	fewSucceeded      = 6
	// shareDown: at least one in this many Migrations has an ordinal down when the manager is killed.
	shareDown = 20
	// timeOfOne is the time allowed for one move among all others.
	timeOfOne = 6 * time.Second
	// afterTheLease is the time after which the new leader must have started the ordinals that it found down.
	afterTheLease = 10 * time.Second
)

// TestSuccessor kills the manager while ordinals are down. The next manager acquires the lease with default
// settings, and scales up for all of these ordinals within ten seconds, regardless of its other work.
func TestSuccessor(t *testing.T) {
	migrations := harness.FromEnvironment(t, successorVariable, fewSucceeded)
	n := startTenancy(t, "successor")
	s := &succession{tenancy: n}
	for range migrations {
		v := newMove(t, harness.Usual(3), outlasting(time.Duration(migrations)*timeOfOne), n.toNewNamespace)
		v.Managed()
		s.moves = append(s.moves, v)
	}
	for _, v := range s.moves {
		v.Must(n.client.Create(v.Ctx, v.Migration))
	}
	first, least := s.moves[0], max(1, migrations/shareDown)
	var down map[string]int32
	for len(down) == 0 {
		first.Eventually("ordinals are down", func(context.Context) (bool, error) { return len(s.down()) >= least, nil })
		n.manager.Kill()
		if down = s.down(); len(down) == 0 { // the last write was in flight
			n.manager.Start()
		}
	}
	before := s.lease()
	n.manager.Start()
	var after *coordinationv1.Lease
	first.Eventually("the lease has another holder", func(context.Context) (bool, error) {
		after = s.lease()
		return ptr.Deref(after.Spec.HolderIdentity, "") != ptr.Deref(before.Spec.HolderIdentity, ""), nil
	})
	first.Eventually("what was down is asked for again", func(context.Context) (bool, error) {
		return s.allTaken(down), nil
	})
	took := time.Since(after.Spec.AcquireTime.Time)
	t.Logf("%d Migrations, of which %d had an ordinal down: asked for again within %.1f s of the lease", migrations, len(down), took.Seconds())
	if took > afterTheLease {
		t.Errorf("an ordinal that was down was asked for %s after the lease, more than %s", took, afterTheLease)
	}
	for _, v := range s.moves {
		v.Await(n.client, api.ConditionCompleted, metav1.ConditionTrue)
		v.ExpectMovedCleanly()
		v.Audit()
	}
	harness.WriteFigures(t, "successor", fmt.Sprintf("The manager was killed with %d Migrations under way, of which %d had an ordinal down: its successor had asked for\n"+
		"all of them again %.1f s after it had the lease, and all %d Migrations arrived.", migrations, len(down), took.Seconds(), migrations))
}

// toNewNamespace moves to another namespace of the tenancy's cluster.
func (n *tenancy) toNewNamespace(v *harness.Move) {
	v.From, v.To, v.ToNamespace = n.at, n.at, v.App.Namespace+"-new"
}

// succession holds successive managers and their moves.
type succession struct {
	*tenancy
	moves []*move
}

// lease returns the lease for which the managers compete.
func (s *succession) lease() *coordinationv1.Lease {
	s.t.Helper()
	lease, err := s.typed.CoordinationV1().Leases("sliceshift-system").Get(s.t.Context(), "everywhere", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return lease
}

// asked returns spec.replicas of all StatefulSets, by namespace.
func (s *succession) asked() map[string]int32 {
	s.t.Helper()
	all, err := s.typed.AppsV1().StatefulSets(corev1.NamespaceAll).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	asked := map[string]int32{}
	for _, set := range all.Items {
		asked[set.Namespace] = ptr.Deref(set.Spec.Replicas, 1)
	}
	return asked
}

// down returns the applications whose two sides together have fewer replicas in their specs than the
// application. It maps the destination's namespace to the replicas there.
func (s *succession) down() map[string]int32 {
	s.t.Helper()
	asked := s.asked()
	down := map[string]int32{}
	for _, v := range s.moves {
		if asked[v.App.Namespace]+asked[v.ToNamespace] < v.App.Replicas {
			down[v.ToNamespace] = asked[v.ToNamespace]
		}
	}
	return down
}

// allTaken reports whether the replicas of each destination have increased.
func (s *succession) allTaken(down map[string]int32) bool {
	s.t.Helper()
	asked := s.asked()
	for namespace, before := range down {
		if asked[namespace] <= before {
			return false
		}
	}
	return true
}
