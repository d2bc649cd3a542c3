package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/volumes"
)

const (
	tokenReviewer = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: reviewer}, roleRef: {kind: ClusterRole, name: "system:auth-delegator"}, subjects: [{kind: ServiceAccount, name: default, namespace: shop}]}`
	ofAll         = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: all}, roleRef: {kind: ClusterRole, name: locks}, subjects: [{kind: Group, name: "system:serviceaccounts:shop"}]}`
	ofNobody      = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: nobody}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: default, namespace: store}]}`
	locks         = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: locks}, rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, update]}]}`
)

const fewerLocks = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: locks}, rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get]}]}`

func objects(texts ...string) (all []*unstructured.Unstructured) {
	for _, text := range texts {
		all = append(all, endpointtest.Object(text))
	}
	return all
}

// TestP10AccountBindings: a role that the account has at the source only, by its name or by a group, is a warning.
// Unreadable bindings are not missing.
func TestP10AccountBindings(t *testing.T) {
	forbidden := clustertest.Failing(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), "list")
	for name, tc := range map[string]struct {
		source, destination clustertest.Hooks
		there               []string
		want                []string
	}{
		"none there":        {there: []string{ofNobody}, want: []string{"AccountNotBound ClusterRoleBinding all in cluster east (warning)", "AccountNotBound ClusterRoleBinding reviewer in cluster east (warning)"}},
		"one of them there": {there: []string{ofAll, locks}, want: []string{"AccountNotBound ClusterRoleBinding reviewer in cluster east (warning)"}},
		"both there":        {there: []string{ofAll, tokenReviewer, locks}},
		"weaker there":      {there: []string{ofAll, tokenReviewer, fewerLocks}, want: []string{"AccountNotBound ClusterRole locks in cluster west (warning)"}},
		"no such role":      {there: []string{ofAll, tokenReviewer}, want: []string{"AccountNotBound ClusterRole locks in cluster west (warning)"}},
		"roles unread":      {destination: clustertest.Failing(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), "get"), there: []string{ofAll, tokenReviewer, locks}, want: []string{"PermissionMissing StatefulSet shop/web in cluster west (warning)"}},
		"unread at source":  {source: forbidden, there: []string{ofNobody}, want: []string{"PermissionMissing StatefulSet shop/web in cluster east (warning)"}},
		"unread there":      {destination: forbidden, there: []string{ofNobody}, want: []string{"PermissionMissing StatefulSet shop/web in cluster west (warning)"}},
	} {
		e := &Inspector{Pair: endpointtest.Pair(endpointtest.ServingAlso(tc.source, objects(tokenReviewer, ofAll, ofNobody, locks)...), endpointtest.ServingAlso(tc.destination, objects(tc.there...)...))}
		findings, err := e.accountBindings(t.Context(), &api.Migration{}, claimedSet(nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, found(findings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestP6Leaders: a right to write Leases is found in the role that grants it, for every kind of binding.
func TestP6Leaders(t *testing.T) {
	for name, tc := range map[string]struct {
		hooks clustertest.Hooks
		here  []string
		want  []string
	}{
		"none":   {here: []string{tokenReviewer, locks}},
		"leases": {here: []string{ofAll, locks}, want: []string{"ElectsLeader StatefulSet shop/web in cluster east (warning)"}},
		"unread": {hooks: clustertest.Failing(apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")), "get"), here: []string{ofAll, locks}, want: []string{"PermissionMissing StatefulSet shop/web in cluster east (warning)"}},
	} {
		e := &Inspector{Pair: endpointtest.Pair(endpointtest.ServingAlso(tc.hooks, objects(tc.here...)...), nil)}
		findings, err := e.leaders(t.Context(), nil, claimedSet(nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, found(findings)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestP11SchedulerOfAllNamespaces: without the right to list pods of all namespaces one namespace is checked, and the
// warning names it.
func TestP11SchedulerOfAllNamespaces(t *testing.T) {
	volcano := claimedSet(func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.SchedulerName = "volcano" })
	bound := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "a"}, Spec: corev1.PodSpec{SchedulerName: "volcano", NodeName: "node-1"}}
	waits := bound
	waits.Spec.NodeName = ""
	for name, tc := range map[string]struct {
		has     []corev1.Pod
		refused bool
		says    string
	}{
		"it binds":        {has: []corev1.Pod{bound}},
		"it binds none":   {has: []corev1.Pod{waits}, says: "has bound no pod in cluster west"},
		"not all is seen": {refused: true, says: "namespace shop of cluster west, the only namespace that may be listed"},
	} {
		hooks := clustertest.Hooks{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			asked := client.ListOptions{}
			asked.ApplyOptions(options)
			if tc.refused && asked.Namespace == "" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
			}
			list.(*corev1.PodList).Items = tc.has //nolint:forcetypeassert // only pods are listed
			return nil
		}}
		e := &Inspector{Pair: endpointtest.Pair(nil, clustertest.Hooked(hooks))}
		findings, err := e.schedulers(t.Context(), nil, volcano)
		if err != nil || (tc.says == "") != (len(findings) == 0) || tc.says != "" && !strings.Contains(findings[0].Message, tc.says) {
			t.Errorf("%s: %+v, %v", name, findings, err)
		}
	}
}

// TestP9Running: the running pod is compared with the dry-run pod; a pod of another revision is not.
func TestP9Running(t *testing.T) {
	running := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-2"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: "proxy"}}}}
	old := running.DeepCopy()
	old.Labels = map[string]string{appsv1.ControllerRevisionHashLabelKey: "web-1"}
	for name, tc := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"a sidecar":           {running, []string{"PodWouldDiffer pod shop/web-2 in cluster east (warning)"}},
		"of another revision": {old, nil},
	} {
		e := &Inspector{Pair: endpointtest.Pair(clustertest.New(tc.pod), clustertest.New())}
		findings, err := e.running(t.Context(), &api.Migration{}, claimedSet(nil))
		if diff := cmp.Diff(tc.want, found(findings)); err != nil || diff != "" {
			t.Errorf("%s: %s %v", name, diff, err)
		}
	}
	refuses := clustertest.Hooks{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-2", errors.New("no"))
	}}
	e := &Inspector{Pair: endpointtest.Pair(clustertest.New(running), clustertest.Hooked(refuses))}
	findings, err := e.running(t.Context(), &api.Migration{}, claimedSet(nil))
	if len(findings) > 0 || err != nil {
		t.Errorf("it is not let in: %v, %v", findings, err)
	}
}

// TestP8BoundToNodes: a label of single nodes with another name is recognized by its values.
func TestP8BoundToNodes(t *testing.T) {
	by := func(key, value string) func(*corev1.PersistentVolume) {
		return func(pv *corev1.PersistentVolume) {
			pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
			}}}}
		}
	}
	const key = "storage.example.com/where"
	nodes := func(labels ...string) (all []client.Object) {
		for i, label := range labels {
			all = append(all, readyNode("node-"+string(rune('1'+i)), map[string]string{key: label, "zone": label}))
		}
		return all
	}
	for name, tc := range map[string]struct {
		volume func(*corev1.PersistentVolume)
		nodes  []client.Object
		word   bool
		want   []string
	}{
		"a node's name":    {by(key, "node-1"), nodes("a", "a"), false, []string{"VolumeIsLocal volume pv-data-web-0"}},
		"its user's word":  {by(key, "node-1"), nodes("a", "a"), true, nil},
		"each its own":     {by(key, "a"), nodes("a", "b"), false, []string{"VolumeIsLocal volume pv-data-web-0 (warning)"}},
		"of several nodes": {by(key, "a"), nodes("a", "a"), false, nil},
		"a zone":           {by("zone", "a"), nodes("a", "b"), false, nil},
		"no label":         {nil, nodes("a", "b"), false, nil},
	} {
		here := append(claimsAndVolumes(tc.volume), tc.nodes...)
		e := &Inspector{Pair: endpointtest.Pair(clustertest.New(here...), nil), Policy: volumes.Unrestricted()}
		m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{{ClaimTemplate: "data", Shared: tc.word}}}}
		pvs, err := e.claimed(t.Context(), m, claimedSet(nil))
		if err != nil {
			t.Fatal(err)
		}
		findings, err := e.boundToNodes(t.Context(), m, claimedSet(nil), pvs)
		if diff := cmp.Diff(tc.want, found(findings)); err != nil || diff != "" {
			t.Errorf("%s: %s %v", name, diff, err)
		}
	}
}

// TestP5SaidOfAVolume: the confirmation for a volume of the pod template is written like that for a claim template.
func TestP5SaidOfAVolume(t *testing.T) {
	set := claimedSet(func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "logs", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/srv/logs"}}}}
		s.Spec.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "logs", MountPath: "/logs"}}
	})
	for said, want := range map[bool][]string{false: {api.ReasonDataOutsideClaims}, true: nil} {
		e := &Inspector{Pair: endpointtest.Pair(nil, nil)}
		m := &api.Migration{Spec: api.MigrationSpec{Volumes: []api.VolumeSpec{{ClaimTemplate: "logs", Shared: said}}}}
		findings := outside(e, Subject{Migration: m, Source: set})
		if len(findings) != len(want) || len(findings) > 0 && findings[0].Reason != want[0] {
			t.Errorf("said %t: %v", said, found(findings))
		}
		if unknown := unknownTemplates(e.Source, m, set); (len(unknown) == 0) != said {
			t.Errorf("said %t: %v", said, unknown)
		}
	}
}
