package clusters

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/sliceshift/sliceshift/internal/disk"
	"github.com/sliceshift/sliceshift/workload"
)

var testScheme = NewScheme()

// objects are the objects of a cluster, by nameOf.
type objects map[string]client.Object

// reader returns them as a store does.
func (o objects) reader() client.Reader {
	b := fake.NewClientBuilder().WithScheme(testScheme)
	for _, index := range Indexes() {
		b = b.WithIndex(index.Object, index.Field, index.Values)
	}
	for _, object := range o {
		copied, _ := object.DeepCopyObject().(client.Object)
		b = b.WithObjects(copied)
	}
	return b.Build()
}

func of[T any](o objects) []*T {
	var all []*T
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if typed := as[T](o[key]); typed != nil {
			all = append(all, typed)
		}
	}
	return all
}

// The questions of the test's subscriber, and the labels of the pods in the other cluster.
const (
	askedVolume, askedService, askedDisk = "asked", "governing", "csi driver/asked"
	otherTemplate                        = "b"
)

// input returns everything that a Snapshot of a set may depend on, by looking at all objects.
func (o objects) input(set string) string {
	n := &naive{own: regexp.MustCompile("^" + set + "-[0-9]+$"), claim: regexp.MustCompile("^.+-" + set + "-[0-9]+(_parked)?$")}
	n.budgets(o, append(n.pods(o), n.template(o, set)))
	for _, c := range of[corev1.PersistentVolumeClaim](o) {
		if n.claim.MatchString(c.Name) || slices.ContainsFunc(c.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Name == set }) {
			n.note(c)
		}
	}
	for _, service := range of[corev1.Service](o) {
		if n.own.MatchString(service.Name) || service.Name == askedService {
			n.note(service)
		}
	}
	n.volumes(o)
	return strings.Join(n.lines, "\n")
}

// naive finds the objects of a set by name patterns.
type naive struct {
	own, claim *regexp.Regexp
	lines      []string
}

func (n *naive) note(what ...any) {
	data, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	n.lines = append(n.lines, string(data))
}

func (n *naive) template(o objects, set string) labels.Set {
	for _, s := range of[appsv1.StatefulSet](o) {
		if s.Name == set {
			n.note(s)
			return s.Spec.Template.Labels
		}
	}
	return labels.Set{"app": otherTemplate}
}

// pods returns the labels of the set's pods.
func (n *naive) pods(o objects) (own []labels.Set) {
	for _, pod := range of[corev1.Pod](o) {
		mounts := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return n.claim.MatchString(v.PersistentVolumeClaim.ClaimName) })
		if n.own.MatchString(pod.Name) {
			own = append(own, pod.Labels)
		}
		if n.own.MatchString(pod.Name) || mounts {
			n.note(pod)
		}
	}
	return own
}

func (n *naive) budgets(o objects, selected []labels.Set) {
	for _, budget := range of[policyv1.PodDisruptionBudget](o) {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			panic(err)
		}
		n.note("budget", budget.Name)
		if !slices.ContainsFunc(selected, func(l labels.Set) bool { return selector.Matches(l) }) {
			continue
		}
		n.note(budget)
		for _, pod := range of[corev1.Pod](o) {
			if selector.Matches(labels.Set(pod.Labels)) {
				n.note("it covers", pod.Name, pod.UID, presenceOf(pod).ended, presenceOf(pod).marked)
			}
		}
	}
}

func (n *naive) volumes(o objects) {
	for _, volume := range of[corev1.PersistentVolume](o) {
		ref := volume.Spec.ClaimRef
		if volume.Name != askedVolume && !slices.Contains(disk.Filed(volume), askedDisk) && (ref == nil || !n.claim.MatchString(ref.Name)) {
			continue
		}
		n.note(volume)
		for _, attachment := range of[storagev1.VolumeAttachment](o) {
			if name := attachment.Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name {
				n.note(attachment)
			}
		}
	}
}

func anyName(t *rapid.T, prefixes ...string) string {
	return fmt.Sprintf("%s%s-%s", rapid.SampledFrom(prefixes).Draw(t, "prefix"), rapid.SampledFrom([]string{"web", "a-web", "web-1", "1"}).Draw(t, "set"),
		rapid.SampledFrom([]string{"0", "10", "x"}).Draw(t, "ordinal"))
}

func anyLabels(t *rapid.T) map[string]string {
	return map[string]string{"app": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "app")}
}

// anyObject returns an object of any kind.
func anyObject(t *rapid.T) client.Object {
	meta := metav1.ObjectMeta{Namespace: "shop", Generation: rapid.Int64Range(0, 3).Draw(t, "version")}
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		meta.Name, meta.Labels = anyName(t, ""), anyLabels(t)
		pod := &corev1.Pod{ObjectMeta: meta, Status: corev1.PodStatus{Phase: rapid.SampledFrom([]corev1.PodPhase{"Running", "Failed"}).Draw(t, "phase")}}
		for range rapid.IntRange(0, 2).Draw(t, "claims") {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: anyName(t, "", "data-", "my-data-")}}})
		}
		return pod
	case 1:
		meta.Name = rapid.SampledFrom([]string{"web", "a-web", "web-1"}).Draw(t, "set")
		return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: anyLabels(t)}}}}
	case 2:
		meta.Name = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "budget")
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: meta}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: anyLabels(t)}
		return budget
	case 3:
		meta.Name = anyName(t, "data-", "my-data-", "")
		if rapid.Bool().Draw(t, "owned") {
			meta.OwnerReferences = []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web"}}
		}
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	case 4:
		meta.Name = rapid.SampledFrom([]string{askedService, "web-0", "other", "1-0"}).Draw(t, "service")
		return &corev1.Service{ObjectMeta: meta}
	case 5:
		meta.Namespace, meta.Name = "", rapid.SampledFrom([]string{askedVolume, "v"}).Draw(t, "volume")
		volume := &corev1.PersistentVolume{ObjectMeta: meta}
		if rapid.Bool().Draw(t, "bound") {
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: anyName(t, "data-", "") + rapid.SampledFrom([]string{"", "_parked"}).Draw(t, "parked")}
		}
		if rapid.Bool().Draw(t, "csi") {
			volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "driver", VolumeHandle: rapid.SampledFrom([]string{"asked", "other"}).Draw(t, "handle")}
		}
		return volume
	default:
		meta.Namespace, meta.Name = "", rapid.SampledFrom([]string{"x", "y"}).Draw(t, "attachment")
		attachment := &storagev1.VolumeAttachment{ObjectMeta: meta}
		attachment.Spec.Source.PersistentVolumeName = new(rapid.SampledFrom([]string{askedVolume, "v", "unknown"}).Draw(t, "attached"))
		return attachment
	}
}

// TestWhoIsMeantIsWoken: an event wakes every subscriber whose input it changes.
func TestWhoIsMeantIsWoken(t *testing.T) {
	spared := 0
	rapid.Check(t, func(t *rapid.T) {
		hub, woken := newHub(), map[string]bool{}
		for _, set := range []string{"web", "a-web", "web-1"} {
			s := &subscriber{Subscription: Subscription{Set: set, Notify: func() { woken[set] = true }}, namespace: "shop", asked: map[uint64]struct{}{}}
			hub.join(s)
			hub.ask(s, questionAt(&corev1.PersistentVolume{}, client.ObjectKey{Name: askedVolume}))
			hub.ask(s, questionAt(&corev1.Service{}, client.ObjectKey{Namespace: "shop", Name: askedService}))
			hub.ask(s, questionOfDisk(askedDisk))
		}
		there := objects{}
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			clear(woken)
			now, inputs := maps.Clone(there), map[string]string{}
			after := anyObject(t)
			before := there[nameOf(after)]
			now[nameOf(after)] = after
			if before != nil && rapid.Bool().Draw(t, "deleted") {
				delete(now, nameOf(after))
				after = nil
			}
			for _, set := range []string{"web", "a-web", "web-1"} {
				inputs[set] = there.input(set)
			}
			hub.wake(waker{hub, now.reader(), setKinds()}.about(before, after))
			for set, was := range inputs {
				if is := now.input(set); is != was && !woken[set] {
					t.Fatalf("%s is not woken, from %v to %v:\n%s\nand now\n%s", set, before, after, was, is)
				}
				if !woken[set] {
					spared++
				}
			}
			there = now
		}
	})
	if spared == 0 {
		t.Error("everyone is woken by everything")
	}
}

// TestOthersAreNotWoken: an event of one set does not wake the other sets of its namespace.
func TestOthersAreNotWoken(t *testing.T) {
	there := objects{}
	for _, set := range []string{"web", "db"} {
		app := map[string]string{"app": set}
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: set}}
		s.Spec.Template.Labels = app
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: set}}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: app}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + set}}
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "data-" + set + "-0"}
		attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va-" + set}}
		attachment.Spec.Source.PersistentVolumeName = &volume.Name
		for _, object := range []client.Object{
			s, budget, volume, attachment, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: set + "-0", Labels: app}},
			&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-" + set + "-0"}},
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: set + "-0"}},
		} {
			there[nameOf(object)] = object
		}
	}
	hub, woken := newHub(), map[string]int{}
	for _, set := range []string{"web", "db"} {
		hub.join(&subscriber{Subscription: Subscription{Set: set, Notify: func() { woken[set]++ }}, namespace: "shop", asked: map[uint64]struct{}{}})
	}
	w := waker{hub, there.reader(), setKinds()}
	events := 0
	for _, object := range there {
		if strings.Contains(object.GetName(), "db") {
			continue
		}
		after, _ := object.DeepCopyObject().(client.Object)
		after.SetGeneration(1)
		hub.wake(w.about(object, after))
		events++
		if _, budget := object.(*policyv1.PodDisruptionBudget); !budget {
			hub.wake(w.about(nil, after))
			hub.wake(w.about(object, nil))
			events += 2
		}
	}
	if woken["web"] != events || woken["db"] != 0 {
		t.Errorf("%d events have woken %v", events, woken)
	}
}

// TestMaySelect: a selector that is ruled out without compiling it does not match, and those of other sets are ruled out.
func TestMaySelect(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", ""})
	rapid.Check(t, func(t *rapid.T) {
		selector := &metav1.LabelSelector{MatchLabels: rapid.MapOfN(word, word, 0, 2).Draw(t, "labels")}
		for range rapid.IntRange(0, 2).Draw(t, "expressions") {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: word.Draw(t, "key"), Values: []string{word.Draw(t, "value")},
				Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn}).Draw(t, "operator"),
			})
		}
		of := labels.Set(rapid.MapOfN(word, word, 0, 2).Draw(t, "of"))
		compiled, err := metav1.LabelSelectorAsSelector(selector)
		if err == nil && compiled.Matches(of) && !MaySelect(selector, of) {
			t.Fatalf("%v selects %v", selector, of)
		}
	})
	if MaySelect(nil, labels.Set{"app": "web"}) || MaySelect(&metav1.LabelSelector{MatchLabels: labels.Set{"app": "db"}}, labels.Set{"app": "web"}) {
		t.Error("a selector of others is not ruled out")
	}
}

// TestQuestions: a subscriber with too many questions is woken by every event, and one that has left by none.
func TestQuestions(t *testing.T) {
	hub, woken := newHub(), 0
	s := &subscriber{Subscription: Subscription{Set: "web", Notify: func() { woken++ }}, namespace: "shop", asked: map[uint64]struct{}{}}
	hub.join(s)
	for i := range mostAsked + 1 {
		hub.ask(s, questionOfDisk(strconv.Itoa(i)))
		hub.ask(s, questionOfDisk(strconv.Itoa(i)))
	}
	if len(hub.asked) != 0 || len(s.asked) != 0 || len(hub.curious) != 1 {
		t.Errorf("%d questions are kept, %d are curious", len(hub.asked), len(hub.curious))
	}
	hub.wake(audience{})
	if woken != 1 {
		t.Errorf("woken %d times", woken)
	}
	hub.leave(s)
	hub.ask(s, questionOfDisk("late"))
	hub.wonder(s)
	hub.wake(audience{everyone: true, questions: []question{questionOfDisk("late")}})
	if woken != 1 || len(hub.of) != 0 || len(hub.curious) != 0 {
		t.Errorf("woken %d times, %v", woken, hub)
	}
}

// setKinds returns all kinds of StatefulSets.
func setKinds() []client.Object {
	return Scope{Namespace: "shop", Kind: workload.SliceVersion}.part().sets()
}
