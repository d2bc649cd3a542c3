package stage

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/rehearsal"
	"github.com/sliceshift/sliceshift/migration/relay"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// copies returns a stage that copies the volume of ordinal 0, with the plan of that copy.
func copies(source, destination client.Client) (*Stage, rehearsal.ClonePlan) {
	s := staged(source, destination)
	s.Clock = clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	s.relays = relay.NewSet(nil, relay.Options{})
	asked := rehearsal.ClonePlan{
		Template: "data", From: volumes.Ref{Namespace: "shop", Name: "data-web-0"}, To: volumes.Ref{Namespace: "stage", Name: "data-web-0"}, Size: 1 << 30, Copied: true,
	}
	s.ask.Clones = []rehearsal.ClonePlan{asked}
	return s, asked
}

func claim() *corev1.PersistentVolumeClaim {
	class := "slow"
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-0"}, Spec: corev1.PersistentVolumeClaimSpec{
		VolumeName: "pv-0", StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// TestCopyWrites: the engine of method Copy fills the claim of the rehearsal under its own name, by movers that a relay
// connects. All objects have the ID of the rehearsal, by which they are found again. The sender mounts its claim
// read-only.
func TestCopyWrites(t *testing.T) {
	own := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0"}, Spec: corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	source, destination := clustertest.New(web(), claim(), own), clustertest.New()
	s, asked := copies(source, destination)
	asked.Size = 1 << 40 // so large that the copy of a move would be proven later
	r := record()
	ahead := func() volumes.Verdict {
		t.Helper()
		pair, err := s.pair(t.Context(), r, asked)
		if err != nil {
			t.Fatal(err)
		}
		return copy.Copy{}.Ahead(pair, volumes.Warm)
	}
	do := func(verb volumes.Verb) {
		t.Helper()
		verdict := ahead()
		if verdict.Action == nil || verdict.Action.Verb != verb {
			t.Fatalf("%+v, want %s", verdict, verb)
		}
		w := rehearsal.Write{AtSource: verdict.Action.AtGiver, Carry: verdict.Action}
		if err := s.Do(t.Context(), r, w); err != nil {
			t.Fatal(err)
		}
	}
	begun := ahead().Attempt
	if begun == nil || begun.Number == 0 {
		t.Fatal("no attempt is begun")
	}
	r.Copies = map[string]api.CopyAttempt{asked.To.Name: *begun}
	do(volumes.CreateIncoming)
	filled := &corev1.PersistentVolumeClaim{}
	if err := destination.Get(t.Context(), client.ObjectKey{Namespace: "stage", Name: "data-web-0"}, filled); err != nil {
		t.Fatal(err)
	}
	size := filled.Spec.Resources.Requests[corev1.ResourceStorage]
	if filled.Spec.VolumeName != "" || size.String() != "1Gi" || filled.Spec.DataSource != nil {
		t.Errorf("%+v", filled.Spec)
	}
	if verdict := ahead(); verdict.Action.Copy.Verify != "" || verdict.Action.Copy.Copy != "" {
		t.Errorf("the pass keeps something in the volume, where the pod of the rehearsal finds it: %+v", verdict.Action.Copy)
	}
	do(volumes.CreateMover)
	var movers corev1.PodList
	if err := destination.List(t.Context(), &movers, client.MatchingLabels{api.MigrationLabelKey: string(r.ID)}); err != nil || len(movers.Items) != 1 {
		t.Fatalf("%d movers: %v", len(movers.Items), err)
	}
	mover := movers.Items[0]
	if mover.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-web-0" || mover.Spec.Containers[0].Image != "manager" || !strings.Contains(strings.Join(mover.Spec.Containers[0].Args, " "), "--listen=127.0.0.1") {
		t.Errorf("%+v", mover.Spec)
	}
	if verdict := ahead(); verdict.Waits == "" {
		t.Errorf("%+v, and the receiver has no key yet", verdict)
	}
}

// TestPrepareClones: every volume of the StatefulSet gets a clone before its pods start.
func TestPrepareClones(t *testing.T) {
	set, from := web(), claim()
	set.Spec.Replicas, set.Spec.VolumeClaimTemplates = new(int32(1)), []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: from.Spec}}
	from.UID = "claim"
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-0"}, Spec: corev1.PersistentVolumeSpec{
		ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: "data-web-0", UID: "claim"},
	}}
	allows := clustertest.Hooks{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if review, is := o.(*authorizationv1.SelfSubjectAccessReview); is {
			review.Status.Allowed = true
			return nil
		}
		return c.Create(ctx, o, options...)
	}}
	there := endpointtest.Serving(allows, nil, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}})
	s, asked := copies(endpointtest.Serving(clustertest.Hooks{}, nil, set, from, volume), there)
	s.ask = rehearsal.Ask{}
	s.Copies, s.Forbid, s.Word = true, []string{"10.0.0.1:443"}, &rehearsal.Word{Safe: true}
	findings, err := s.Prepare(t.Context(), record(), rehearsal.Ask{Within: time.Minute})
	if err != nil || len(findings) > 0 {
		t.Fatalf("%+v, %v", findings, err)
	}
	asked.StorageClass = "slow"
	if diff := cmp.Diff([]rehearsal.ClonePlan{asked}, s.ask.Clones); diff != "" || s.ask.Within != time.Minute || s.ask.Replicas != 1 {
		t.Errorf("%+v: %s", s.ask, diff)
	}
}

// TestPrepareEmpty: a claim that starts empty is watched by its class, and a volume that the binder could choose for it is
// found. No snapshot is needed for it.
func TestPrepareEmpty(t *testing.T) {
	for name, tc := range map[string]struct {
		class   *string
		classes []client.Object
		want    string
	}{
		"a class":              {new("slow"), []client.Object{&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "slow"}}}, "slow"},
		"a class of no object": {new("by-hand"), nil, "by-hand"},
		"the default class": {nil, []client.Object{&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{
			Name: "usual", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		}}}, "usual"},
		"no class": {nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			free := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "seeded"}, Spec: corev1.PersistentVolumeSpec{StorageClassName: tc.want}}
			free.Status.Phase = corev1.VolumeAvailable
			s := staged(clustertest.New(), clustertest.New(append(tc.classes, free)...))
			s.set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: tc.class}}}
			s.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodEmpty}}
			planned, findings, err := s.planClones(t.Context(), record(), []int32{0})
			want := []rehearsal.ClonePlan{{
				Template: "data", From: volumes.Ref{Namespace: "shop", Name: "data-web-0"}, To: volumes.Ref{Namespace: "stage", Name: "data-web-0"}, StorageClass: tc.want, Empty: true,
			}}
			if diff := cmp.Diff(want, planned); diff != "" || len(findings) > 0 || err != nil {
				t.Fatalf("%s, %+v, %v", diff, findings, err)
			}
			if c, err := s.clone(t.Context(), record(), planned[0], []corev1.PersistentVolume{*free}); err != nil || c.Occupied != "seeded" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

// TestCopySpec: a rehearsal copies with the settings of the move, but through this process.
func TestCopySpec(t *testing.T) {
	s, _ := copies(clustertest.New(), clustertest.New())
	user := int64(1000)
	s.Spec.Volumes = []api.VolumeSpec{
		{ClaimTemplate: "data", Method: api.MethodCopy, Copy: api.CopySpec{Image: "mine", RunAsUser: &user, ServiceType: corev1.ServiceTypeNodePort, Address: "10.0.0.1"}},
		{ClaimTemplate: "wal", Method: api.MethodRebind, Copy: api.CopySpec{Image: "other"}},
	}
	if diff := cmp.Diff(api.CopySpec{Image: "mine", RunAsUser: &user, Transport: api.TransportRelay}, s.copySpec("data").Copy); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(api.CopySpec{Image: "manager", Transport: api.TransportRelay}, s.copySpec("wal").Copy); diff != "" {
		t.Error(diff)
	}
}

// TestOnePodOnly: a volume that only one pod may mount is not copied while its own pod runs.
func TestOnePodOnly(t *testing.T) {
	s, asked := copies(clustertest.New(), clustertest.New())
	if _, finding := s.planCopy(asked, claim()); finding != nil {
		t.Errorf("%+v", finding)
	}
	once := claim()
	once.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	if _, finding := s.planCopy(asked, once); finding == nil || !strings.Contains(finding.Message, "no mover can read it while its pod runs") {
		t.Errorf("%+v", finding)
	}
}

// TestAdmission: a user with rights in all namespaces needs no RoleBinding. Without them the user must be allowed to bind
// the role of a rehearsal, which is created for that user in the namespace. Otherwise the rehearsal is refused.
func TestAdmission(t *testing.T) {
	for name, tc := range map[string]struct {
		may            []string
		allowed, lacks bool
	}{
		"an administrator": {[]string{"create pods", "delete namespaces"}, true, false},
		"may bind":         {[]string{"create rolebindings", "bind clusterroles"}, false, false},
		"may start only":   {[]string{"create pods"}, false, true},
		"nothing":          {nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var created []client.Object
			there := clustertest.Hooked(clustertest.Known(clustertest.Hooks{Create: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				if _, is := o.(*authenticationv1.SelfSubjectReview); is {
					return c.Create(ctx, o)
				}
				if review, is := o.(*authorizationv1.SelfSubjectAccessReview); is {
					a := review.Spec.ResourceAttributes
					review.Status.Allowed = strings.Contains(strings.Join(tc.may, ","), a.Verb+" "+a.Resource) && a.Namespace == "stage"
					return nil
				}
				created = append(created, o)
				return nil
			}}))
			s, _ := copies(clustertest.New(), there)
			finding, err := s.rights(t.Context())
			if err != nil || (finding != nil) != tc.lacks {
				t.Fatalf("%+v, %v", finding, err)
			}
			if finding != nil && !strings.Contains(finding.Remedy, "create clusterrolebinding sliceshift-rehearser-destination") {
				t.Errorf("%+v", finding)
			}
			a, err := s.admission(t.Context(), rehearsal.Object{Found: true})
			if err != nil || a.Allowed != tc.allowed || a.Binding.Found || a.User != "jane" {
				t.Fatalf("%+v, %v", a, err)
			}
			if err := s.Do(t.Context(), record(), rehearsal.Write{Verb: rehearsal.Create, Kind: rehearsal.KindBinding, On: a.Binding}); err != nil {
				t.Fatal(err)
			}
			binding, is := created[0].(*unstructured.Unstructured)
			if !is {
				t.Fatalf("%T", created[0])
			}
			want := map[string]any{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": StageRole}
			if diff := cmp.Diff(want, binding.Object["roleRef"]); diff != "" || binding.GetNamespace() != "stage" || !marked(binding, record()) {
				t.Errorf("%+v: %s", binding.Object, diff)
			}
			if a, err = s.admission(t.Context(), rehearsal.Object{Found: true}); err != nil || !a.Binding.Found {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

// TestOrigin: the result shows which pods of the source were restarted, replaced or not Ready during the rehearsal.
func TestOrigin(t *testing.T) {
	began := time.Unix(1000, 0)
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid"}, Status: corev1.PodStatus{
			PodIPs:            []corev1.PodIP{{IP: "10.0.0.1"}},
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(began.Add(-time.Hour))}},
			ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 1}},
		}}
		change(p)
		return p
	}
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"nothing":   {func(*corev1.Pod) {}, ""},
		"restarted": {func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount++ }, "a container of pod web-1 was restarted"},
		"replaced":  {func(p *corev1.Pod) { p.UID = "other" }, "pod web-1 was replaced"},
		"deleted":   {func(p *corev1.Pod) { p.Name = "another" }, "pod web-1 was deleted"},
		"not Ready": {func(p *corev1.Pod) { p.Status.Conditions = nil }, "pod web-1 was not Ready for a time"},
		"Ready again": {func(p *corev1.Pod) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(began.Add(time.Second))
		}, "pod web-1 was not Ready for a time"},
	} {
		t.Run(name, func(t *testing.T) {
			none := func(*corev1.Pod) {}
			s, _ := copies(clustertest.New(web(), pod("web-0", none), pod("web-1", tc.change)), clustertest.New())
			r := record()
			r.Began = metav1.NewMicroTime(began)
			if addresses := s.remember(map[string]*corev1.Pod{"web-0": pod("web-0", none), "web-1": pod("web-1", none)}); len(addresses) != 2 {
				t.Errorf("addresses %q", addresses)
			}
			o, err := s.origin(t.Context(), r)
			if err != nil || o.Pods != 2 || strings.Join(o.Disturbed, "; ") != tc.want {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}
