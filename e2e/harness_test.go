package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/migration"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// move is one application on its way, watched by an auditor.
type move struct {
	t           testing.TB
	ctx         context.Context //nolint:containedctx // a test has one context, and every helper needs it
	app         fixture.App
	from, to    site
	toNamespace string
	toName      string
	m           *api.Migration
	auditor     *auditor.Auditor
	budget      int32
	source      kubernetes.Interface
	destination kubernetes.Interface
	// csi changes the volumes of a CSI driver before they are made.
	csi func(*corev1.CSIPersistentVolumeSource)
	// deployed is called when the application runs, before it is watched.
	deployed func()
}

// setting changes a move before it is deployed.
type setting func(*move)

func acrossClusters(v *move)   { v.from, v.to = east, west }
func acrossNamespaces(v *move) { v.from, v.to, v.toNamespace = east, east, v.app.Namespace+"-new" }
func acrossNames(v *move)      { v.from, v.to, v.toName = east, east, "web-next" }

func withSpec(change func(*api.MigrationSpec)) setting {
	return func(v *move) { change(&v.m.Spec) }
}

func withBudget(d int32) setting { return func(v *move) { v.budget = d } }

func intOrString(s string) *intstr.IntOrString {
	value := intstr.Parse(s)
	return &value
}

// newMove deploys an application in a namespace of its own.
func newMove(t testing.TB, app fixture.App, settings ...setting) *move {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stage.limit())
	t.Cleanup(cancel)
	app.Namespace, app.Name = "t-"+rand.String(8), "web"
	m := fixture.NewMigration(app.Namespace, app.Name)
	v := &move{t: t, ctx: ctx, app: app, from: east, to: west, toNamespace: app.Namespace, toName: app.Name, budget: 1, m: m}
	v.m.Spec.Destination.CreateNamespace = true
	for _, set := range settings {
		set(v)
	}
	v.m.Spec.Destination.Namespace, v.m.Spec.Destination.Name = v.toNamespace, v.toName
	fixture.SharePaths(v.m, v.app.Claims...)
	v.source = kubernetes.NewForConfigOrDie(v.from.RESTConfig())
	v.destination = kubernetes.NewForConfigOrDie(v.to.RESTConfig())
	v.must(stage.deploy(v))
	if v.deployed != nil {
		v.deployed()
	}
	v.startAuditor()
	return v
}

func (v *move) startAuditor() {
	v.t.Helper()
	budget := v.budget
	if v.app.MaxUnavailable == nil && v.app.MinAvailable == nil {
		budget = 0 // without a PodDisruptionBudget evictions are not bounded by anybody
	}
	watching, err := auditor.Start(v.ctx, auditor.Options{
		Source: auditor.Side{
			Name: "source", Config: v.from.RESTConfig(), Namespace: v.app.Namespace, Set: v.app.Name, Resource: resourceOf(v.m.Spec.Source.APIVersion),
		},
		Destination: auditor.Side{
			Name: "destination", Config: v.to.RESTConfig(), Namespace: v.toNamespace, Set: v.toName, Resource: resourceOf(v.m.Spec.Destination.APIVersion),
		},
		Budget: budget,
	})
	v.must(err)
	v.auditor = watching
	if a, is := v.t.(*attempt); is {
		a.auditors = append(a.auditors, watching)
	}
}

// resourceOf is what the auditor watches for a kind of StatefulSet.
func resourceOf(version string) schema.GroupVersionResource {
	if version == "" {
		return schema.GroupVersionResource{}
	}
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil {
		panic(err)
	}
	return parsed.WithResource("statefulsets")
}

func (v *move) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// report looks at each pass of a run; an error ends the run.
type report func(*api.Migration, migration.Outcome) error

// mover writes the record and connects.
func (v *move) mover() *fixture.Mover {
	v.t.Helper()
	mover, err := fixture.NewMover(v.ctx, v.from.RESTConfig(), v.to.RESTConfig(), v.m)
	v.must(err)
	return mover
}

// run moves the application to the end in this process.
func (v *move) run(reports ...report) *fixture.Mover {
	v.t.Helper()
	mover := v.mover()
	v.drive(mover, reports...)
	return mover
}

func (v *move) drive(mover *fixture.Mover, reports ...report) {
	v.t.Helper()
	var last string
	err := mover.Run(v.ctx, func(m *api.Migration, outcome migration.Outcome) error {
		if line := narrate(outcome); line != "" && line != last {
			last = line
			v.t.Log(line)
		}
		for _, look := range reports {
			if err := look(m, outcome); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		v.t.Fatalf("the run ended with: %v (last: %s)", err, last)
	}
}

func narrate(outcome migration.Outcome) string {
	switch d := outcome.Decision; {
	case d.Effect != nil && outcome.Wrote:
		return d.Effect.String()
	case d.Hold != nil:
		return fmt.Sprintf("hold %s: %s", d.Hold.Reason, d.Hold.Message)
	case outcome.Finished != nil:
		return fmt.Sprintf("ordinal %d arrived", outcome.Finished.Ordinal)
	}
	return ""
}

// audit asks the auditor for its verdict.
func (v *move) audit() auditor.Report {
	v.t.Helper()
	verdict := v.auditor.Finish(v.ctx)
	if !verdict.OK() {
		v.t.Errorf("the auditor does not agree:\n%s", verdict)
	}
	v.must(stage.check(v, verdict))
	return verdict
}

// end is where one of the two slices is.
type end struct {
	client         kubernetes.Interface
	namespace, set string
}

func (v *move) here() end  { return end{v.source, v.app.Namespace, v.app.Name} }
func (v *move) there() end { return end{v.destination, v.toNamespace, v.toName} }

// expectSlice checks the ordinals of a slice, and that all of them are available.
func (v *move) expectSlice(at end, start, replicas int32) {
	v.t.Helper()
	set, err := at.client.AppsV1().StatefulSets(at.namespace).Get(v.ctx, at.set, metav1.GetOptions{})
	v.must(err)
	have := int32(0)
	if set.Spec.Ordinals != nil {
		have = set.Spec.Ordinals.Start
	}
	if *set.Spec.Replicas != replicas || replicas > 0 && have != start {
		v.t.Errorf("%s/%s owns [%d,%d), want [%d,%d)", at.namespace, set.Name, have, have+*set.Spec.Replicas, start, start+replicas)
	}
	if fence := set.Annotations[api.FenceAnnotationKey]; fence != "" {
		v.t.Errorf("%s/%s still carries the fence %s", at.namespace, set.Name, fence)
	}
	v.must(fixture.App{Namespace: at.namespace, Name: at.set}.AwaitReady(v.ctx, at.client))
}

// expectMoved checks that everything is at the destination and restored.
func (v *move) expectMoved() {
	v.t.Helper()
	v.expectSlice(v.here(), v.app.Start, 0)
	v.expectSlice(v.there(), v.app.Start, v.app.Replicas)
	v.expectBudget(v.there())
	v.expectVolumes(v.there(), v.app.Replicas*int32(len(v.app.Claims)))
}

// expectBack checks that everything is as it was before.
func (v *move) expectBack() {
	v.t.Helper()
	v.expectSlice(v.here(), v.app.Start, v.app.Replicas)
	v.expectBudget(v.here())
	v.expectVolumes(v.here(), v.app.Replicas*int32(len(v.app.Claims)))
	if _, err := v.destination.AppsV1().StatefulSets(v.toNamespace).Get(v.ctx, v.toName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		v.t.Errorf("the destination StatefulSet was not removed: %v", err)
	}
	claims, err := v.destination.CoreV1().PersistentVolumeClaims(v.toNamespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	if len(claims.Items) > 0 && v.toNamespace+v.to.Name() != v.app.Namespace+v.from.Name() {
		v.t.Errorf("%d claims were left at the destination", len(claims.Items))
	}
}

// expectBudget checks that a side has the budget in its author's form.
func (v *move) expectBudget(at end) {
	v.t.Helper()
	if v.app.MaxUnavailable == nil && v.app.MinAvailable == nil {
		return
	}
	budget, err := at.client.PolicyV1().PodDisruptionBudgets(at.namespace).Get(v.ctx, v.app.Name, metav1.GetOptions{})
	v.must(err)
	if !same(budget.Spec.MaxUnavailable, v.app.MaxUnavailable) || !same(budget.Spec.MinAvailable, v.app.MinAvailable) {
		v.t.Errorf("budget is maxUnavailable %v minAvailable %v, want %v and %v", budget.Spec.MaxUnavailable, budget.Spec.MinAvailable, v.app.MaxUnavailable, v.app.MinAvailable)
	}
}

func same(a, b *intstr.IntOrString) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// expectVolumes checks that a slice has so many bound claims, whose volumes have
// their first reclaim policy again.
func (v *move) expectVolumes(at end, want int32) {
	v.t.Helper()
	volumes, err := at.client.CoreV1().PersistentVolumes().List(v.ctx, metav1.ListOptions{})
	v.must(err)
	bound := int32(0)
	for _, volume := range volumes.Items {
		ref := volume.Spec.ClaimRef
		if ref == nil || ref.Namespace != at.namespace || !v.isClaim(ref.Name, at.set) {
			continue
		}
		if volume.Status.Phase == corev1.VolumeBound {
			bound++
		}
		if volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			v.t.Errorf("volume %s of claim %s has policy %s", volume.Name, ref.Name, volume.Spec.PersistentVolumeReclaimPolicy)
		}
	}
	if bound != want {
		v.t.Errorf("%d volumes are bound in %s, want %d", bound, at.namespace, want)
	}
}

// isClaim says whether a claim is one of a StatefulSet's, and not parked.
func (v *move) isClaim(name, set string) bool {
	for _, template := range v.app.Claims {
		if ordinal, found := strings.CutPrefix(name, template+"-"+set+"-"); found {
			_, err := strconv.Atoi(ordinal)
			return err == nil
		}
	}
	return false
}

// eventually polls a condition until it holds.
func (v *move) eventually(what string, condition func(context.Context) (bool, error)) {
	v.t.Helper()
	if err := wait.PollUntilContextCancel(v.ctx, 20*time.Millisecond, true, condition); err != nil {
		v.t.Fatalf("%s: %v", what, err)
	}
}

var parallel = appsv1.ParallelPodManagement

func contains(text, part string) bool { return strings.Contains(text, part) }

// attach makes a VolumeAttachment of a volume of the source to a node.
func (v *move) attach(name, volume, node string) error {
	attachment := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "example.com", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}
	_, err := v.source.StorageV1().VolumeAttachments().Create(v.ctx, attachment, metav1.CreateOptions{})
	return err
}

// awaitObserved waits until the controller has seen the source as it is.
func (v *move) awaitObserved() {
	v.t.Helper()
	v.eventually("the controller has observed the source", func(ctx context.Context) (bool, error) {
		set, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(ctx, v.app.Name, metav1.GetOptions{})
		return err == nil && set.Status.ObservedGeneration >= set.Generation, err
	})
}
