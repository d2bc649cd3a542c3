package stage

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot/manifest"
)

// record is a rehearsal in namespace stage.
func record() rehearsal.Record { return rehearsal.Record{ID: "id-1", Namespace: "stage"} }

// staged returns a stage between two clusters, for StatefulSet shop/web with two replicas.
func staged(source, destination client.Client) *Stage {
	s := &Stage{Pair: endpointtest.Pair(source, destination), ask: rehearsal.Ask{Set: "web", Start: 0, Replicas: 2}}
	s.Pair.Destination.Namespace = "stage"
	s.set = web()
	s.Image = "manager"
	return s
}

func web() *appsv1.StatefulSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{api.FenceAnnotationKey: "other.1"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(2)), ServiceName: "web", Selector: &metav1.LabelSelector{MatchLabels: labels},
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}, NodeSelector: map[string]string{"disk": "fast"}},
			},
		},
	}
}

// TestPolicyDenies: the policy selects all pods, in each direction, and allows the namespace, the cluster's DNS and the listed
// addresses only.
func TestPolicyDenies(t *testing.T) {
	object, err := policyOf("stage", []rehearsal.Allowed{{Prefix: netip.MustParsePrefix("10.4.0.0/24"), Port: 443}})
	if err != nil {
		t.Fatal(err)
	}
	raw, is := object.(*unstructured.Unstructured)
	if !is {
		t.Fatalf("%T", object)
	}
	own := map[string]any{"podSelector": map[string]any{}}
	ports := func(port int64) []any {
		return []any{map[string]any{"port": port, "protocol": "TCP"}, map[string]any{"port": port, "protocol": "UDP"}}
	}
	want := map[string]any{
		"podSelector": map[string]any{},
		"policyTypes": []any{"Ingress", "Egress"},
		"ingress":     []any{map[string]any{"from": []any{own}}},
		"egress": []any{
			map[string]any{"to": []any{own}},
			map[string]any{"to": []any{map[string]any{
				"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "kube-system"}},
				"podSelector":       map[string]any{"matchLabels": map[string]any{"k8s-app": "kube-dns"}},
			}}, "ports": ports(53)},
			map[string]any{"to": []any{map[string]any{"ipBlock": map[string]any{"cidr": "10.4.0.0/24"}}}, "ports": ports(443)},
		},
	}
	if diff := cmp.Diff(want, raw.Object["spec"]); diff != "" {
		t.Error(diff)
	}
}

// TestStatefulSet: the pods are those that the move would start, all at once, and no migration owns the set.
func TestStatefulSet(t *testing.T) {
	s := staged(clustertest.New(web()), clustertest.New())
	object, err := s.created(t.Context(), record(), rehearsal.Write{Verb: rehearsal.Create, Kind: rehearsal.KindSet, On: rehearsal.Object{Ref: volumes.Ref{Namespace: "stage", Name: "web"}}})
	if err != nil {
		t.Fatal(err)
	}
	mark(object, record())
	set, is := object.(*appsv1.StatefulSet)
	if !is {
		t.Fatalf("%T", object)
	}
	if *set.Spec.Replicas != 2 || set.Namespace != "stage" || set.Spec.PersistentVolumeClaimRetentionPolicy != nil || !cmp.Equal(set.Spec.Template, web().Spec.Template) {
		t.Errorf("%+v", set.Spec)
	}
	for key := range set.Annotations {
		if strings.HasPrefix(key, "migration.sliceshift.io/") {
			t.Errorf("it has annotation %s", key)
		}
	}
	if !marked(set, record()) || marked(set, rehearsal.Record{ID: "id-2"}) || marked(set, rehearsal.Record{}) {
		t.Error("it is not marked as one of this rehearsal")
	}
}

// TestProbePreempts: a pod without a PriorityClass evicts others if the global default is above 0, and preempts.
func TestProbePreempts(t *testing.T) {
	never := corev1.PreemptNever
	for name, tc := range map[string]struct {
		priority *int32
		policy   *corev1.PreemptionPolicy
		want     bool
	}{
		"nothing is set":        {nil, nil, false},
		"no global default":     {new(int32(0)), new(corev1.PreemptLowerPriority), false},
		"a default above 0":     {new(int32(1000)), new(corev1.PreemptLowerPriority), true},
		"its policy is usual":   {new(int32(1000)), nil, true},
		"it does not preempt":   {new(int32(1000)), &never, false},
		"a default that yields": {new(int32(-10)), new(corev1.PreemptLowerPriority), false},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "stage", Name: controlName}, Spec: corev1.PodSpec{Priority: tc.priority, PreemptionPolicy: tc.policy}}
		p, err := staged(clustertest.New(), clustertest.New(pod)).probe(t.Context(), record(), controlName)
		if err != nil || p.Preempts != tc.want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// TestStatefulSetHarmsNoOther: no name outside of the cluster leads to a clone, and it does not have the PriorityClass of
// the application.
func TestStatefulSetHarmsNoOther(t *testing.T) {
	set := web()
	set.Spec.Template.Annotations = map[string]string{"external-dns.alpha.kubernetes.io/hostname": "web.example.com", "note": "kept"}
	set.Spec.Template.Spec.PriorityClassName = "critical"
	s := staged(clustertest.New(set), clustertest.New())
	s.set = set
	object, err := s.created(t.Context(), record(), rehearsal.Write{Verb: rehearsal.Create, Kind: rehearsal.KindSet, On: rehearsal.Object{Ref: volumes.Ref{Namespace: "stage", Name: "web"}}})
	if err != nil {
		t.Fatal(err)
	}
	template := object.(*appsv1.StatefulSet).Spec.Template
	if diff := cmp.Diff(map[string]string{"note": "kept"}, template.Annotations); diff != "" || template.Spec.PriorityClassName != "" {
		t.Errorf("priority %q, annotations %s", template.Spec.PriorityClassName, diff)
	}
}

// TestCopiesAreSilent: controllers that act on annotations outside of a namespace find none on the copies.
func TestCopiesAreSilent(t *testing.T) {
	annotations := map[string]string{"cloud.google.com/neg": `{"exposed_ports":{"80":{"name":"web"}}}`, "replicator.v1.mittwald.de/replicate-to": "*", "role": "a"}
	named := metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: annotations}
	service := &corev1.Service{ObjectMeta: named, Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}}}
	s := staged(endpointtest.Serving(clustertest.Hooks{}, nil, web(), service, &corev1.Secret{ObjectMeta: named}, &corev1.ServiceAccount{ObjectMeta: named}), endpointtest.Serving(clustertest.Hooks{}, nil))
	for kind, kept := range map[string]bool{"Service": false, "Secret": false, "ServiceAccount": true} {
		object, err := s.created(t.Context(), record(), rehearsal.Write{Verb: rehearsal.Create, Kind: rehearsal.KindCopy, Copy: rehearsal.Named{Kind: kind, Name: "web"}})
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if got := object.GetAnnotations()["role"] == "a"; got != kept {
			t.Errorf("%s: %v", kind, object.GetAnnotations())
		}
	}
}

// TestServicesOfTheSource: an address of a Service that leads to the source's pods counts as one of these pods.
func TestServicesOfTheSource(t *testing.T) {
	s := staged(clustertest.New(), clustertest.New())
	s.needs.Origins = map[world.Named]*unstructured.Unstructured{
		{Kind: "Service", Name: "web"}: {Object: map[string]any{
			"spec":   map[string]any{"clusterIPs": []any{"10.96.0.7"}, "externalIPs": []any{"192.0.2.1"}},
			"status": map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": "198.51.100.9"}}}},
		}},
		{Kind: "Secret", Name: "web"}: {Object: map[string]any{}},
	}
	if diff := cmp.Diff([]string{"10.96.0.7", "192.0.2.1", "198.51.100.9"}, s.services()); diff != "" {
		t.Error(diff)
	}
}

// TestContentThatIsNotNamedYet: the snapshot of a rehearsal that is interrupted early is deleted with its storage, although
// its VolumeSnapshot does not name its content yet.
func TestContentThatIsNotNamedYet(t *testing.T) {
	taken := manifest.Taken(manifest.Mark{}, volumes.Ref{Namespace: "shop", Name: "taken"}, volumes.SnapshotAction{Class: "nightly", Claim: "data-web-0"})
	taken.SetUID("uid-1")
	mark(taken, record())
	content := manifest.Empty(manifest.ContentKind, volumes.Ref{Name: "snapcontent-uid-1"})
	content.Object["spec"] = map[string]any{
		"deletionPolicy": "Retain", "volumeSnapshotRef": map[string]any{"namespace": "shop", "name": "taken", "uid": "uid-1"},
	}
	s := staged(endpointtest.ServingAlso(clustertest.Hooks{}, taken, content), clustertest.New())
	left, err := s.leftTaken(t.Context(), record())
	if err != nil || len(left) != 1 {
		t.Fatalf("%+v, %v", left, err)
	}
	if c := left[0].Content; !c.Found || !c.Ours || !left[0].Retains {
		t.Errorf("%+v", left[0])
	}
}

// TestProbePod: a probe has no rights, runs where the application runs, and tries the addresses.
func TestProbePod(t *testing.T) {
	s := staged(clustertest.New(), clustertest.New())
	object := s.probePod(rehearsal.Write{On: rehearsal.Object{Ref: volumes.Ref{Namespace: "stage", Name: proofName}}, Addresses: []string{"10.0.0.1:443"}})
	pod, is := object.(*corev1.Pod)
	if !is {
		t.Fatalf("%T", object)
	}
	spec := pod.Spec
	if *spec.AutomountServiceAccountToken || !*spec.SecurityContext.RunAsNonRoot || spec.NodeSelector["disk"] != "fast" || spec.Containers[0].Image != "manager" {
		t.Errorf("%+v", spec)
	}
	if diff := cmp.Diff([]string{"reach", "--address=10.0.0.1:443"}, spec.Containers[0].Args); diff != "" {
		t.Error(diff)
	}
	if pod.Labels["app"] != "" {
		t.Error("Services of the application select it")
	}
}

// TestDoWritesWhatWasJudged: a deletion has the UID and resourceVersion of the decision. If the object has changed since, that
// is no error, and the next pass decides again.
func TestDoWritesWhatWasJudged(t *testing.T) {
	var said client.DeleteOptions
	answer := error(nil)
	there := clustertest.Hooked(clustertest.Hooks{Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
		said = client.DeleteOptions{}
		said.ApplyOptions(options)
		return answer
	}})
	s := staged(clustertest.New(), there)
	w := rehearsal.Write{Verb: rehearsal.Delete, Kind: rehearsal.KindClaim}
	w.On.Ref, w.On.ResourceVersion = volumes.Ref{Namespace: "stage", Name: "data-web-0", UID: "uid-1"}, "7"
	if err := s.Do(t.Context(), record(), w); err != nil {
		t.Fatal(err)
	}
	if p := said.Preconditions; p == nil || *p.UID != "uid-1" || *p.ResourceVersion != "7" {
		t.Errorf("%+v", said)
	}
	answer = apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), "data-web-0", errors.New("changed"))
	if err := s.Do(t.Context(), record(), w); err != nil {
		t.Errorf("changed: %v", err)
	}
	answer = errors.New("no answer")
	if err := s.Do(t.Context(), record(), w); err == nil || !strings.Contains(err.Error(), "cluster west: delete claim stage/data-web-0: no answer") {
		t.Errorf("no answer: %v", err)
	}
	if err := s.Do(t.Context(), record(), rehearsal.Write{Verb: rehearsal.Delete, Kind: rehearsal.KindCopy}); err == nil {
		t.Error("a copy is deleted alone")
	}
}

// begun is the record of a rehearsal of shop/web that has begun.
func begun() rehearsal.Record {
	return rehearsal.Begin("id-1", rehearsal.Place{Namespace: "shop", StatefulSet: "web"}, rehearsal.Place{Cluster: "west"}, time.Unix(7, 0), nil)
}

// TestStore: a record is kept between processes, and two processes never both hold it.
func TestStore(t *testing.T) {
	there := clustertest.New()
	one, other := &Store{Client: there, Namespace: "shop", Set: "web"}, &Store{Client: there, Namespace: "shop", Set: "web"}
	if r, err := one.Load(t.Context()); r != nil || err != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	kept := begun()
	kept.Keep = true
	if err := one.Save(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	if err := one.Held(t.Context()); err != nil {
		t.Errorf("%v", err)
	}
	r, err := other.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, *r); diff != "" {
		t.Error(diff)
	}
	if err := other.Save(t.Context(), *r); err != nil {
		t.Fatal(err)
	}
	if err := one.Held(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("held: %v", err)
	}
	if err := one.Save(t.Context(), kept); err == nil || !strings.Contains(err.Error(), "another process rehearses StatefulSet shop/web") {
		t.Errorf("saved: %v", err)
	}
	if err := (&Store{Client: there, Namespace: "shop", Set: "web"}).Save(t.Context(), kept); err == nil {
		t.Error("a second record replaces the first unread")
	}
	deleted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: other.ObjectName()}}
	if err := there.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	if err := other.Held(t.Context()); err != nil {
		t.Errorf("after its deletion: %v", err)
	}
	if again, err := one.Load(t.Context()); err != nil || again == nil || !cmp.Equal(*again, *r) {
		t.Errorf("a record that was deleted is not created again: %+v, %v", again, err)
	}
}

// TestStoreOfOthers: a ConfigMap that holds no rehearsal is neither used nor replaced, and a cluster that does not answer
// has no record that could be missing.
func TestStoreOfOthers(t *testing.T) {
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sliceshift.rehearsal.web"}, Data: map[string]string{"rehearsal.yaml": "a: b"}}
	if r, err := (&Store{Client: clustertest.New(other), Namespace: "shop", Set: "web"}).Load(t.Context()); err == nil || r != nil || !strings.Contains(err.Error(), "does not hold a rehearsal") {
		t.Errorf("%+v, %v", r, err)
	}
	away := clustertest.Hooked(clustertest.Failing(errors.New("no answer"), "get"))
	if r, err := (&Store{Client: away, Namespace: "shop", Set: "web"}).Load(t.Context()); err == nil || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestForgedRecord: a record that a user of the source's namespace has written names only a namespace that a rehearsal of
// this StatefulSet creates, in a cluster that is named. Otherwise its end would delete volumes of others.
func TestForgedRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		forge func(*rehearsal.Record)
		want  string
	}{
		"a namespace of others":        {func(r *rehearsal.Record) { r.Namespace = "billing" }, `namespace "billing" is not that`},
		"the ID of another rehearsal":  {func(r *rehearsal.Record) { r.ID = "id-2" }, "is not that of the rehearsal"},
		"no ID":                        {func(r *rehearsal.Record) { r.ID = "" }, "it has no ID"},
		"a source of others":           {func(r *rehearsal.Record) { r.Source.Namespace = "billing" }, `its source is "billing/web"`},
		"another StatefulSet":          {func(r *rehearsal.Record) { r.Source.StatefulSet = "db" }, `its source is "shop/db"`},
		"any cluster as a destination": {func(r *rehearsal.Record) { r.Destination.Cluster = "" }, "does not name the destination's cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Store{Client: clustertest.New(), Namespace: "shop", Set: "web"}
			r := begun()
			tc.forge(&r)
			if err := s.Save(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Load(t.Context()); got != nil || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestPods: the moments of a start are those of the pod and of its events.
func TestPods(t *testing.T) {
	at := func(second int) metav1.Time { return metav1.NewTime(time.Unix(int64(1000+second), 0)) }
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "stage", Name: "web-0", UID: "uid-1", CreationTimestamp: at(0)},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(1)}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: at(20)},
			},
			ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(11)}}}},
		},
	}
	event := func(name, reason string, uid string, second int) *corev1.Event {
		e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "stage", Name: name}, Reason: reason, LastTimestamp: at(second)}
		e.InvolvedObject.UID = pod.UID
		if uid != "" {
			e.InvolvedObject.UID = "other"
		}
		return e
	}
	s := staged(clustertest.New(), clustertest.New(pod,
		event("a", "SuccessfulAttachVolume", "", 6), event("b", "Pulling", "", 7), event("c", "Pulled", "", 10), event("d", "SuccessfulAttachVolume", "other", 19)))
	s.ask.Replicas = 1
	pods, err := s.pods(t.Context(), record())
	if err != nil || len(pods) != 1 || !pods[0].IsReady {
		t.Fatalf("%+v, %v", pods, err)
	}
	got := pods[0].Times
	want := rehearsal.Times{Created: at(0).Time, Scheduled: at(1).Time, Attached: at(6).Time, Pulling: at(7).Time, Pulled: at(10).Time, Started: at(11).Time, Ready: at(20).Time}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestVolumeOf: a volume is one of the rehearsal's only if it was bound to a claim of its namespace.
func TestVolumeOf(t *testing.T) {
	s := staged(clustertest.New(), clustertest.New())
	of := func(change func(*corev1.PersistentVolume)) rehearsal.Volume {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-uid-1"}, Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "stage", Name: "data-web-0", UID: "uid-1"}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		}}
		change(v)
		return s.volumeOf(v, record(), nil)
	}
	if v := of(func(*corev1.PersistentVolume) {}); !v.Ours || v.Chosen || v.Deletes {
		t.Errorf("provisioned: %+v", v)
	}
	chosen := of(func(v *corev1.PersistentVolume) {
		v.Name, v.Annotations = "by-hand", map[string]string{"pv.kubernetes.io/bound-by-controller": "yes"}
	})
	if !chosen.Ours || !chosen.Chosen {
		t.Errorf("chosen: %+v", chosen)
	}
	if v := of(func(v *corev1.PersistentVolume) { v.Spec.ClaimRef.UID = "" }); v.Ours {
		t.Errorf("reserved by a user: %+v", v)
	}
}

// TestProbe: only a result of the program counts.
func TestProbe(t *testing.T) {
	for name, tc := range map[string]struct {
		message  string
		finished bool
		reached  []string
	}{
		"reached":           {`{"version":1,"result":"Tried","reached":["10.0.0.1:443"]}`, true, []string{"10.0.0.1:443"}},
		"not reached":       {`{"version":1,"result":"Tried","unreached":["10.0.0.1:443"]}`, true, nil},
		"another version":   {`{"version":2,"result":"Tried"}`, false, nil},
		"failed":            {`{"version":1,"result":"Failed"}`, false, nil},
		"another program's": {`standard_init_linux.go: no such file`, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "stage", Name: proofName}, Status: corev1.PodStatus{
				ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: tc.message}}}},
			}}
			p, err := staged(clustertest.New(), clustertest.New(pod)).probe(context.WithoutCancel(t.Context()), record(), proofName)
			if err != nil || p.Finished != tc.finished || !cmp.Equal(p.Reached, tc.reached) || !p.Finished && p.Trouble == "" {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
}
