package slices

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/csi/site"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// controller runs the slice controller in this process, for all tests and all sets except those with their own
// controller.
var controller = sync.OnceValue(func() error {
	immortal, err := labels.Parse("!" + mortalKey)
	if err != nil {
		return err
	}
	scope := cache.Options{ByObject: map[client.Object]cache.ByObject{&sliceapi.StatefulSet{}: {Label: immortal}}}
	_, err = fixture.StartSlices(context.Background(), one, scope)
	return err
})

// play is one StatefulSet of our kind in its own namespace.
type play struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // a test has one context, and every helper needs it
	set *sliceapi.StatefulSet
	// disks are the real disks of its claims; nil if the claims have no storage.
	disks *site.Site
}

// slice returns a StatefulSet with the given number of replicas.
func slice(replicas int32) *sliceapi.StatefulSet {
	app := map[string]string{"app": "web"}
	return &sliceapi.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: sliceapi.StatefulSetSpec{
			Replicas: &replicas, ServiceName: "web", Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
			},
		},
	}
}

// withClaim adds a claim template.
func withClaim(set *sliceapi.StatefulSet) *sliceapi.StatefulSet {
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}}
	return set
}

// newPlay creates a namespace for a set; the set itself is created by begin.
func newPlay(t *testing.T, set *sliceapi.StatefulSet) *play {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	p := &play{t: t, ctx: ctx, set: set}
	p.must(controller())
	set.Namespace = "s-" + rand.String(8)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: set.Namespace}}
	p.must(api.Create(ctx, namespace))
	t.Cleanup(func() { tidy(t, namespace) })
	p.eventually("the namespace has its ServiceAccount", func() bool {
		return api.Get(ctx, client.ObjectKey{Namespace: set.Namespace, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	return p
}

// begin creates the set and waits until it is complete.
func begin(t *testing.T, set *sliceapi.StatefulSet) *play {
	t.Helper()
	p := newPlay(t, set)
	p.must(api.Create(p.ctx, set))
	p.complete()
	return p
}

// step runs a part of a case as a subtest with its own time limit. On kind a step takes half a minute or more, and a
// case may have eight. The case ends with the first step that fails.
func (p *play) step(name string, run func(*testing.T)) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	p.t.Cleanup(cancel)
	p.ctx = ctx
	harness.Steps{T: &p.t}.Run(name, run)
}

// eachManagement runs a case with each policy of pod management.
func eachManagement(t *testing.T, title string, run func(*testing.T, appsv1.PodManagementPolicyType)) {
	t.Helper()
	for _, policy := range []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement} {
		t.Run(title+string(policy), func(t *testing.T) { run(t, policy) })
	}
}

func (p *play) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// eventually polls a condition until it holds.
func (p *play) eventually(what string, condition func() bool) {
	p.t.Helper()
	err := wait.PollUntilContextCancel(p.ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", what, err, p)
	}
}

// String formats the set and its pods.
func (p *play) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "status %+v\n", p.read().Status)
	for _, pod := range p.pods() {
		fmt.Fprintf(&text, "%s %s revision %s deleted %v annotations %v\n", pod.Name, pod.Status.Phase, pod.Labels[appsv1.StatefulSetRevisionLabel], pod.DeletionTimestamp, pod.Annotations)
	}
	return text.String()
}

func (p *play) read() *sliceapi.StatefulSet {
	set := &sliceapi.StatefulSet{}
	_ = api.Get(context.WithoutCancel(p.ctx), client.ObjectKeyFromObject(p.set), set)
	return set
}

// pods returns all pods of the namespace, by name.
func (p *play) pods() []corev1.Pod {
	var list corev1.PodList
	_ = api.List(context.WithoutCancel(p.ctx), &list, client.InNamespace(p.set.Namespace))
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// pod reads one pod; nil when it does not exist.
func (p *play) pod(ordinal int32) *corev1.Pod {
	pod := &corev1.Pod{}
	if api.Get(context.WithoutCancel(p.ctx), client.ObjectKey{Namespace: p.set.Namespace, Name: fmt.Sprintf("web-%d", ordinal)}, pod) != nil {
		return nil
	}
	return pod
}

// change edits the set.
func (p *play) change(edit func(*sliceapi.StatefulSetSpec)) {
	p.t.Helper()
	set := p.read()
	before := set.DeepCopy()
	edit(&set.Spec)
	p.must(api.Patch(p.ctx, set, client.MergeFrom(before)))
	p.set = set
}

// image sets the image of the template.
func (p *play) image(image string) {
	p.t.Helper()
	p.change(func(s *sliceapi.StatefulSetSpec) { s.Template.Spec.Containers[0].Image = image })
}

// complete waits until every pod has the update revision and is available.
func (p *play) complete() {
	p.t.Helper()
	p.eventually("the set is complete", p.isComplete)
}

func (p *play) isComplete() bool {
	set := p.read()
	s, want := set.Status, *set.Spec.Replicas
	return s.ObservedGeneration == set.Generation && s.Replicas == want && s.AvailableReplicas == want &&
		s.UpdatedReplicas == want && s.CurrentRevision == s.UpdateRevision
}

// images returns the images of the pods, by name.
func (p *play) images() map[string]string {
	images := map[string]string{}
	for _, pod := range p.pods() {
		images[pod.Name] = pod.Spec.Containers[0].Image
	}
	return images
}

func (p *play) uids() map[string]types.UID {
	uids := map[string]types.UID{}
	for _, pod := range p.pods() {
		uids[pod.Name] = pod.UID
	}
	return uids
}
