package move

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// Limits for a plan of a thousand ordinals with all checks: requests to both API servers, and the time on an
// idle machine.
const (
	thousand         = 1000
	requestsOfAPlan  = 200
	longestOfAPlan   = 3 * time.Second
	attemptsOfAPlan  = 3
	writersOfObjects = 16
)

// TestThousand: the number of requests to the API servers does not grow with the number of ordinals.
func TestThousand(t *testing.T) {
	t.Parallel()
	v := thousandOrdinals(t)
	var sent atomic.Int64
	counting := func(config *rest.Config) *rest.Config {
		counted := rest.CopyConfig(config)
		counted.QPS = -1
		counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				sent.Add(1)
				return next.RoundTrip(request)
			})
		})
		return counted
	}
	fastest := time.Hour
	for range attemptsOfAPlan {
		from, err := clusters.Connect("thousand", counting(v.From.RESTConfig()))
		v.Must(err)
		to, err := clusters.Connect("west", counting(v.To.RESTConfig()))
		v.Must(err)
		sent.Store(0)
		began := time.Now()
		e := engine.NewEngine(v.Migration, engine.Options{Source: from, Destination: to, Holder: "dry-run", Policy: volumes.Unrestricted()})
		snapshot, err := e.Look(v.Ctx, v.Migration)
		e.Close()
		v.Must(err)
		d := preview.NewPlan(v.Migration, preview.Beginning, snapshot)
		took := time.Since(began)
		fastest = min(fastest, took)
		t.Logf("%d requests, %s, %d steps", sent.Load(), took, len(d.Steps))
		if d.Refused || d.Summary.Ordinals != thousand || d.Outcome != api.ReasonMoved {
			t.Fatalf("refused %v by %+v; %d ordinals, %q, %+v", d.Refused, planner.Preflight(snapshot), d.Summary.Ordinals, d.Outcome, d.Stalled)
		}
		if n := sent.Load(); n > requestsOfAPlan {
			t.Errorf("%d requests", n)
		}
	}
	if fastest > longestOfAPlan {
		t.Errorf("the fastest of %d took %s", attemptsOfAPlan, fastest)
	}
}

// thousandOrdinals creates an application in a cluster whose controllers are stopped, with each object as they
// would have left it. The controllers would need minutes.
func thousandOrdinals(t *testing.T) *move {
	t.Helper()
	from := startBare(t, "thousand", cluster.Options{})
	app := fixture.App{Namespace: "shop", Name: "web", Replicas: thousand, Claims: []string{"data"}, MaxUnavailable: harness.IntOrString("1"), Policy: appsv1.ParallelPodManagement}
	m := fixture.NewMigration(app.Namespace, app.Name)
	v := &move{Move: &harness.Move{T: t, Ctx: t.Context(), App: app, From: from.Cluster, To: harness.West(), ToNamespace: "thousand", ToName: app.Name, Migration: m}}
	m.UID, m.Spec.Destination = "thousand", api.DestinationReference{Namespace: v.ToNamespace, Name: v.ToName, CreateNamespace: true}
	v.Destination = kubernetes.NewForConfigOrDie(v.To.RESTConfig())
	v.csiNode(thousand)
	v.csiClass()
	for _, role := range []cluster.Role{cluster.ControllerManager, cluster.Scheduler, cluster.Kwok} {
		v.Must(from.Kill(role))
	}
	config := rest.CopyConfig(from.RESTConfig())
	config.QPS = -1
	c, err := fixture.Client(config)
	v.Must(err)
	set := app.StatefulSet()
	class := "of-" + app.Namespace
	set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = &class
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Namespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "default"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}}},
		set, app.Budget(),
	} {
		v.Must(fixture.Create(v.Ctx, c, object))
	}
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: thousand, ReadyReplicas: thousand, AvailableReplicas: thousand, CurrentReplicas: thousand, UpdatedReplicas: thousand,
		CurrentRevision: "web-1", UpdateRevision: "web-1",
	}
	v.Must(c.Status().Update(v.Ctx, set))
	budget := &policyv1.PodDisruptionBudget{}
	v.Must(c.Get(v.Ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name}, budget))
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DisruptionsAllowed: 1, CurrentHealthy: thousand, DesiredHealthy: thousand - 1, ExpectedPods: thousand}
	v.Must(c.Status().Update(v.Ctx, budget))
	var mu sync.Mutex
	var errs []error
	workqueue.ParallelizeUntil(v.Ctx, writersOfObjects, thousand, func(ordinal int) {
		if err := v.makeOrdinal(v.Ctx, c, set, ordinal); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	})
	v.Must(errors.Join(errs...))
	return v
}

// makeOrdinal creates the pod, the claim and the volume of an ordinal, with the status that controllers and
// kubelets would set.
func (v *move) makeOrdinal(ctx context.Context, c client.Client, set *appsv1.StatefulSet, ordinal int) error {
	name := fmt.Sprintf("%s-%d", set.Name, ordinal)
	claim := set.Spec.VolumeClaimTemplates[0].DeepCopy()
	claim.Namespace, claim.Name = set.Namespace, "data-"+name
	volume := v.csiVolume("disk-"+strconv.Itoa(ordinal), claim.Name)
	volume.Spec.StorageClassName, claim.Spec.VolumeName = *claim.Spec.StorageClassName, volume.Name
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.Spec.NodeName = set.Namespace, name, "node-0"
	pod.Labels[appsv1.StatefulSetPodNameLabel], pod.Labels[appsv1.ControllerRevisionHashLabelKey] = name, set.Status.UpdateRevision
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}}
	if err := c.Create(ctx, claim); err != nil {
		return err
	}
	volume.Spec.ClaimRef.UID = claim.UID
	if err := errors.Join(c.Create(ctx, volume), c.Create(ctx, pod)); err != nil {
		return err
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: volume.Spec.Capacity, AccessModes: claim.Spec.AccessModes}
	volume.Status.Phase = corev1.VolumeBound
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour))}}}
	return errors.Join(c.Status().Update(ctx, claim), c.Status().Update(ctx, volume), c.Status().Update(ctx, pod))
}
