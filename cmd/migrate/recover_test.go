package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/internal/records"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// servedToMove is what a move reads and writes at its source.
func servedToMove(also ...schema.GroupVersion) map[schema.GroupVersion]map[string]string {
	served := map[schema.GroupVersion]map[string]string{
		corev1.SchemeGroupVersion: {
			"pods": "Pod", "persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume",
			"services": "Service", "namespaces": "Namespace", "configmaps": "ConfigMap",
		},
		appsv1.SchemeGroupVersion:    {"statefulsets": "StatefulSet"},
		policyv1.SchemeGroupVersion:  {"poddisruptionbudgets": "PodDisruptionBudget"},
		storagev1.SchemeGroupVersion: {"volumeattachments": "VolumeAttachment"},
	}
	for _, version := range also {
		served[version] = map[string]string{"migrations": "Migration"}
	}
	return served
}

// left is a source of three ordinals that has given two of them away, and what a move keeps
// of that.
func left(completed bool) (*api.Migration, []client.Object) {
	m := moving(2, 3)
	m.Spec.Ordinals.Order = api.HighestFirst
	m.Annotations = map[string]string{records.DestinationNameAnnotationKey: "west", records.DestinationAnnotationKey: "cluster-west"}
	m.Status.Baseline = &api.Baseline{Replicas: 3, Budget: 1, SourceCluster: "cluster-east", DestinationCluster: "cluster-west", SourceUID: "set", DestinationUID: "there"}
	m.Status.Conditions = conditions(time.Hour, metav1.Condition{Type: api.ConditionAccepted, Status: metav1.ConditionTrue, Reason: api.ReasonReady})
	if completed {
		m.Status.Conditions = append(m.Status.Conditions, conditions(0, metav1.Condition{Type: api.ConditionCompleted, Status: metav1.ConditionTrue, Reason: api.ReasonMoved})...)
	}
	labels := map[string]string{"app": "web"}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, PodManagementPolicy: appsv1.ParallelPodManagement,
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
		Status: appsv1.StatefulSetStatus{CurrentRevision: "web-1", UpdateRevision: "web-1"},
	}
	objects := []client.Object{
		set, podOf(0), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "cluster-east"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
	}
	for ordinal := range 3 {
		objects = append(objects, diskOf(ordinal)...)
	}
	return m, objects
}

func podOf(ordinal int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", ordinal), Labels: map[string]string{"app": "web", appsv1.ControllerRevisionHashLabelKey: "web-1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "set", Controller: new(true)}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}}},
	}
}

// diskOf is the claim and the volume of an ordinal; all but the first are parked.
func diskOf(ordinal int) []client.Object {
	name := fmt.Sprintf("data-web-%d", ordinal)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name, UID: types.UID("pv-" + name)},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: "shop", Name: name, UID: types.UID(name)},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example", VolumeHandle: "disk-" + name}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if ordinal > 0 {
		claim.Status.Phase = corev1.ClaimLost
		volume.Spec.ClaimRef, volume.Status.Phase = &corev1.ObjectReference{Namespace: "shop", Name: name + "_parked"}, corev1.VolumeAvailable
	}
	return []client.Object{claim, volume}
}

// recorded is the ConfigMap that keeps a migration.
func recorded(t *testing.T, m *api.Migration) *corev1.ConfigMap {
	t.Helper()
	kept := m.DeepCopy()
	kept.TypeMeta = metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Migration"}
	kept.UID = ""
	data, err := yaml.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sliceshift-web", UID: "migration", Labels: map[string]string{records.LabelKey: "web"}},
		Data:       map[string]string{"migration.yaml": string(data)},
	}
}

// controllers are what acts at the source: pods of the StatefulSet come, and claims are bound
// to the volumes that name them.
func (s *sliceServer) controllers(ctx context.Context) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		set := &appsv1.StatefulSet{}
		if s.store.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, set) != nil {
			continue
		}
		for ordinal := range int(*set.Spec.Replicas) {
			_ = s.store.Create(ctx, podOf(ordinal)) // it may be there already
		}
		volumes := &corev1.PersistentVolumeList{}
		_ = s.store.List(ctx, volumes)
		for i := range volumes.Items {
			ref, claim := volumes.Items[i].Spec.ClaimRef, &corev1.PersistentVolumeClaim{}
			if s.store.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, claim) == nil && claim.Status.Phase != corev1.ClaimBound {
				claim.Status.Phase, volumes.Items[i].Status.Phase = corev1.ClaimBound, corev1.VolumeBound
				_ = s.store.Status().Update(ctx, claim) // the next round tries again
				_ = s.store.Status().Update(ctx, &volumes.Items[i])
			}
		}
	}
}

// TestRecoverARun (G15): the destination does not answer, and its context is gone from the kubeconfig
// in one case. The move is driven from here until every ordinal is back on its disk.
func TestRecoverARun(t *testing.T) {
	for name, completed := range map[string]bool{"in mid-move": false, "after the end": true} {
		t.Run(name, func(t *testing.T) {
			m, objects := left(completed)
			if completed {
				m.Annotations[records.DestinationNameAnnotationKey] = "gone"
			}
			east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
			go east.controllers(t.Context())
			c := newConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-west", "--kubeconfig", east.kubeconfig(t))
			code := make(chan int, 1)
			go func() { code <- execute(t.Context(), c.environment) }()
			// A write that the server's watch has not told of is waited for a while.
			if got := c.passTime(t, code, 100*time.Millisecond); got != exitDone {
				t.Fatalf("exit code %d\n%s%s", got, c.out, c.err)
			}
			set := &appsv1.StatefulSet{}
			if err := east.store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, set); err != nil || *set.Spec.Replicas != 3 || len(set.Annotations) > 0 {
				t.Errorf("the source has %d replicas, annotations %v: %v", *set.Spec.Replicas, set.Annotations, err)
			}
			for _, want := range []string{"recovered: every ordinal runs at the source", "parked", "disk.example/disk-data-web-2", "(UID cluster-west)"} {
				if !strings.Contains(c.out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, c.out)
				}
			}
		})
	}
}

// TestRecoverAsks (G15): nothing is written without a person's word, which must be the right one.
func TestRecoverAsks(t *testing.T) {
	notBegun, _ := left(false)
	notBegun.Status.Baseline = nil
	over := rolledBack()
	for name, tc := range map[string]struct {
		args    []string
		record  *api.Migration
		types   string
		want    int
		wantErr string
		changed bool
	}{
		"nobody is there to be asked": {want: 2, wantErr: "--destination-is-off=cluster-west"},
		"the wrong cluster":           {args: []string{"--destination-is-off=cluster-east"}, want: 2, wantErr: "has the UID cluster-west"},
		"the wrong words":             {types: "yes\n", want: 1, wantErr: "nothing has been changed"},
		"no words":                    {types: "\n", want: 1, wantErr: "nothing has been changed"},
		"the words":                   {types: "west is off\n", args: []string{"--timeout", "6s"}, want: 4, changed: true},
		"a dry run":                   {args: []string{"--dry-run"}},
		"a dry run in YAML":           {args: []string{"--dry-run", "-o", "yaml"}},
		"a format without a dry run":  {args: []string{"-o", "json"}, want: 2, wantErr: "-o json is for --dry-run"},
		"not begun":                   {record: notBegun, want: 3, wantErr: api.ReasonNothingToRecover},
		"back already":                {record: over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, objects := left(false)
			if tc.record != nil {
				m = tc.record
			}
			east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
			c := newConsole(append([]string{"recover", "web", "-n", "shop", "--kubeconfig", east.kubeconfig(t)}, tc.args...)...)
			if tc.types != "" {
				c.In, c.asks = strings.NewReader(tc.types), func() bool { return true }
			}
			if got := c.run(t); got != tc.want || !strings.Contains(c.err.String(), tc.wantErr) {
				t.Errorf("exit code %d, want %d\n%s%s", got, tc.want, c.out, c.err)
			}
			if wrote := east.wrote(); len(wrote) > 0 != tc.changed {
				t.Errorf("it wrote %v", wrote)
			}
		})
	}
}

// TestRecoverWhatAnswers (G15): a destination that answers and has pods of the application is not
// off, whatever was confirmed.
func TestRecoverWhatAnswers(t *testing.T) {
	m, objects := left(false)
	m.Status.Baseline.DestinationCluster = "cluster-east" // both contexts lead to one server here
	m.Annotations[records.DestinationNameAnnotationKey] = "east"
	m.Spec.Destination.Name = "web"
	m.Status.Baseline.SourceCluster = "cluster-east"
	east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
	c := newConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-east", "--kubeconfig", east.kubeconfig(t))
	if got := c.run(t); got != exitStalled || !strings.Contains(c.err.String(), "it is not off") {
		t.Errorf("exit code %d: %s", got, c.err)
	}
	if wrote := east.wrote(); len(wrote) > 0 {
		t.Errorf("it wrote %v", wrote)
	}
}

// TestRecoverAResource: of a Migration the mode and the word are written at once.
func TestRecoverAResource(t *testing.T) {
	m, objects := left(true)
	m.Annotations, m.ResourceVersion = nil, ""
	m.Spec.Destination.KubeConfigSecretRef = &api.SecretKeyReference{Name: "west"}
	east := serve(t, servedToMove(api.GroupVersion), append(objects, m)...)
	c := newConsole("recover", "web", "-n", "shop", "--destination-is-off=cluster-west", "--kubeconfig", east.kubeconfig(t))
	if got := c.run(t); got != exitDone || !strings.HasSuffix(c.out.String(), "migration shop/web is being recovered\n") {
		t.Errorf("exit code %d\n%s%s", got, c.out, c.err)
	}
	now := &api.Migration{}
	if err := east.store.Get(t.Context(), client.ObjectKeyFromObject(m), now); err != nil || now.Spec.Mode != api.ModeRecover || now.Spec.Recovery.DestinationIsOff != "cluster-west" {
		t.Errorf("got %s, %+v: %v", now.Spec.Mode, now.Spec.Recovery, err)
	}
	if wrote := east.wrote(); len(wrote) != 1 {
		t.Errorf("it wrote %v", wrote)
	}
}

// TestRecoverDocument: what a program is told before it confirms.
func TestRecoverDocument(t *testing.T) {
	m, objects := left(false)
	east := serve(t, servedToMove(), append(objects, recorded(t, m))...)
	c := newConsole("recover", "web", "-n", "shop", "--dry-run", "-o", "json", "--kubeconfig", east.kubeconfig(t))
	if got := c.run(t); got != exitDone {
		t.Fatalf("exit code %d: %s", got, c.err)
	}
	var d recoverDocument
	if err := json.NewDecoder(io.Reader(c.out)).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Outcome != api.ReasonRecovered || d.Summary.Ordinals != 2 || len(d.Ordinals) != 3 || d.DestinationCluster != "cluster-west" || len(d.Unknown) == 0 {
		t.Errorf("got %+v", d)
	}
	want := recoverDisk{Template: "data", Claim: "data-web-2", Volume: "pv-data-web-2", Handle: "disk.example/disk-data-web-2", Policy: "Retain", State: "parked"}
	if got := d.Ordinals[2]; got.At != atDestination || len(got.Disks) != 1 || got.Disks[0] != want {
		t.Errorf("got %+v", got)
	}
}

// TestStatusOfARecovery: whether a person has said that the destination is off, and of which one.
func TestStatusOfARecovery(t *testing.T) {
	for id, want := range map[string]string{
		"": "nobody has said that the destination is off", "cluster-west": "a person has said that it is off",
		"cluster-east": "not confirmed: cluster-east is not the destination's cluster",
	} {
		m, _ := left(false)
		m.Spec.Mode, m.Spec.Recovery.DestinationIsOff = api.ModeRecover, id
		east := newCluster(t)
		east.keep(t, m)
		c := newConsole("status", "web", "--kubeconfig", east.kubeconfig(t))
		if got := c.run(t); got != exitDone || !strings.Contains(c.out.String(), want) {
			t.Errorf("%q: exit code %d, want %q in:\n%s%s", id, got, want, c.out, c.err)
		}
	}
}
