package move

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// chaosWay is how a chaos run carries volumes.
type chaosWay struct {
	name string
	// copies is nil for Rebind. By method Copy, movers stand by before each stop.
	copies *api.CopySpec
	// inPlace is true if the volumes are replaced under the name of their set.
	inPlace bool
}

// chaosWays take turns from seed to seed.
var chaosWays = []chaosWay{
	{name: "rebind"},
	{name: "copy, proven later", copies: &api.CopySpec{Verify: api.CopyVerifyLater, Prefetch: 1}},
	{name: "copy", copies: &api.CopySpec{}},
	{name: "in place", copies: &api.CopySpec{}, inPlace: true},
}

// copiedBy moves an application with volumes of its own by method Copy; nil changes nothing. An ordinal takes longer than by
// Rebind, so there are fewer.
func copiedBy(asked *api.CopySpec) harness.Setting {
	const mostCopied = 3
	return func(v *harness.Move) {
		if asked == nil {
			return
		}
		v.App.Claims, v.App.Replicas, v.Limit = []string{"data"}, min(v.App.Replicas, mostCopied), 4*time.Minute
		byCopy(v)
		has := &v.Migration.Spec.Volumes[0].Copy
		has.Verify, has.Prefetch = asked.Verify, asked.Prefetch
	}
}

// mayCopy fills the volumes, and gives the manager the rights for pods in both namespaces.
func (r *chaosRun) mayCopy() {
	r.T.Helper()
	r.filled()
	if !r.inPlace() {
		r.Must(r.makeNamespace())
	}
	subjects := map[harness.Endpoint]rbacv1.Subject{
		r.Here():  {Kind: rbacv1.ServiceAccountKind, Namespace: r.App.Namespace, Name: "default"},
		r.There(): {APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mover"},
	}
	if r.To == r.From {
		subjects[r.There()] = subjects[r.Here()]
	}
	if r.inPlace() {
		delete(subjects, r.There())
	}
	for at, subject := range subjects {
		r.bind(at.Client, at.Namespace, "sliceshift-mover-pods", subject)
		r.Must(fixture.AwaitRight(r.Ctx, at.Client, subject, authorizationv1.ResourceAttributes{Namespace: at.Namespace, Verb: "delete", Resource: "pods"}))
	}
}

// copyFaults returns the faults of movers.
func (r *chaosRun) copyFaults() []fault {
	return []fault{
		{"a mover is deleted", func(time.Duration) error { return r.hitMover() }},
		{"the movers' connections break", func(time.Duration) error {
			harness.Player(r.T, r.To).BreakForwards(r.ToNamespace)
			return nil
		}},
	}
}

// hitMover deletes a random mover, of whatever pass, by force.
func (r *chaosRun) hitMover() error {
	at := []harness.Endpoint{r.Here(), r.There()}[r.random.IntN(2)]
	which := r.random.Int()
	return r.insist(func(ctx context.Context) error {
		pods, err := at.Client.CoreV1().Pods(at.Namespace).List(ctx, metav1.ListOptions{LabelSelector: manifest.RoleLabelKey})
		if err != nil || len(pods.Items) == 0 {
			return err
		}
		return r.deleteAtOnce(ctx, at, &pods.Items[which%len(pods.Items)])
	})
}

func (r *chaosRun) deleteAtOnce(ctx context.Context, at harness.Endpoint, pod *corev1.Pod) error {
	return at.Client.CoreV1().Pods(at.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
}

// endCopies checks that no copy with verify: Later is left unproven when the migration is completed.
func (r *chaosRun) endCopies() {
	r.T.Helper()
	m := &api.Migration{}
	r.Must(r.client.Get(r.Ctx, client.ObjectKeyFromObject(r.Migration), m))
	if m.Status.History == nil {
		r.T.Fatal("no history was recorded")
	}
	if list := unproven(m.Status.History); len(list) > 0 {
		r.T.Errorf("the migration is completed, and not proven are %v", list)
	}
}
