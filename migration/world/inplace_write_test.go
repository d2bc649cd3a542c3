package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/workload"
)

func inPlaceAt(c client.Client) *Executor {
	return &Executor{Pair: &endpoint.Pair{Source: endpoint.Endpoint{Side: plan.SourceSide, Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: c}}}
}

// TestHoldClaim: the migration's finalizer is added and removed, and no other one. A claim that has changed is not written. No
// cache is to show a claim that ends with its finalizer.
func TestHoldClaim(t *testing.T) {
	const theirs = "kubernetes.io/pvc-protection"
	for name, tc := range map[string]struct {
		verb    plan.Verb
		has     []string
		version string
		want    []string
		refused bool
	}{
		"hold":           {plan.HoldClaim, []string{theirs}, "", []string{theirs, api.ClaimFinalizer}, false},
		"hold it again":  {plan.HoldClaim, []string{api.ClaimFinalizer, theirs}, "", []string{theirs, api.ClaimFinalizer}, false},
		"free":           {plan.FreeClaim, []string{theirs, api.ClaimFinalizer}, "", []string{theirs}, false},
		"it has changed": {plan.FreeClaim, []string{theirs, api.ClaimFinalizer}, "1", []string{theirs, api.ClaimFinalizer}, true},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "data-web-0", UID: "u", Finalizers: tc.has}}
			c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(claim).Build()
			key := client.ObjectKeyFromObject(claim)
			if err := c.Get(t.Context(), key, claim); err != nil {
				t.Fatal(err)
			}
			effect := plan.Effect{Verb: tc.verb, Side: plan.SourceSide, Name: claim.Name, UID: claim.UID, ResourceVersion: claim.ResourceVersion}
			if tc.version != "" {
				effect.ResourceVersion = tc.version
			}
			awaited, err := inPlaceAt(c).Do(t.Context(), effect)
			if apierrors.IsConflict(err) != tc.refused || err != nil && !tc.refused {
				t.Fatal(err)
			}
			if (awaited != nil) != (tc.verb == plan.HoldClaim) {
				t.Errorf("the caches are to show %v", awaited)
			}
			if err := c.Get(t.Context(), key, claim); err != nil || !slices.Equal(claim.Finalizers, tc.want) {
				t.Errorf("got %v, %v, want %v", claim.Finalizers, err, tc.want)
			}
		})
	}
}

// TestEvict: a pod is evicted with its UID. A PodDisruptionBudget that does not allow it is a conflict: nothing was written.
func TestEvict(t *testing.T) {
	budget := apierrors.NewTooManyRequests("cannot evict pod", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	for name, tc := range map[string]struct {
		answer error
		want   func(error) bool
	}{
		"granted":         {nil, func(err error) bool { return err == nil }},
		"by the budget":   {budget, apierrors.IsConflict},
		"too many others": {apierrors.NewTooManyRequests("slow down", 1), apierrors.IsTooManyRequests},
	} {
		t.Run(name, func(t *testing.T) {
			sent := ""
			c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
				SubResourceCreate: func(_ context.Context, _ client.Client, name string, o, sub client.Object, _ ...client.SubResourceCreateOption) error {
					eviction, _ := sub.(*policyv1.Eviction)
					sent = fmt.Sprintf("%s of %s %s", name, o.GetName(), *eviction.DeleteOptions.Preconditions.UID)
					return tc.answer
				},
			}).Build()
			_, err := inPlaceAt(c).Do(t.Context(), plan.Effect{Verb: plan.EvictPod, Side: plan.SourceSide, Name: "web-2", UID: "u", ResourceVersion: "7"})
			if !tc.want(err) || sent != "eviction of web-2 u" {
				t.Errorf("sent %q: %v", sent, err)
			}
		})
	}
}

// TestOrphan: a set is deleted only if the API server would let in the one that follows. An answer about its name, which is
// taken, or about a quota, which the present one uses, counts for nothing.
func TestOrphan(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	for name, tc := range map[string]struct {
		answer  error
		deleted bool
	}{
		"let in":              {apierrors.NewAlreadyExists(resource, "web"), true},
		"a quota":             {apierrors.NewForbidden(resource, "web", errors.New("exceeded quota: sets")), true},
		"a webhook":           {apierrors.NewBadRequest("webhook does not support dry run"), true},
		"a policy":            {apierrors.NewForbidden(resource, "web", errors.New("denied: class fast")), false},
		"the validation":      {apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, "web", nil), false},
		"it does not respond": {errors.New("timeout"), false},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}}
			c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(set).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.CreateOption) error {
					if dry := (&client.CreateOptions{}).ApplyOptions(options).DryRun; len(dry) == 0 {
						t.Error("it was created")
					}
					return tc.answer
				},
			}).Build()
			key := client.ObjectKeyFromObject(set)
			if err := c.Get(t.Context(), key, set); err != nil {
				t.Fatal(err)
			}
			next := `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"shop"}}`
			_, err := inPlaceAt(c).Do(t.Context(), plan.Effect{Verb: plan.OrphanSet, Side: plan.SourceSide, Name: "web", UID: "u", ResourceVersion: set.ResourceVersion, Manifest: next})
			if left := c.Get(t.Context(), key, set); (err == nil) != tc.deleted || apierrors.IsNotFound(left) != tc.deleted {
				t.Errorf("%v, then %v", err, left)
			}
		})
	}
}

// TestOrphanLooksAtTheAnswer: a set is not deleted if admission would create the one that follows with another spec: its controller
// would restart its pods, or its claims would not fit. The name that is taken hides that, so that another one is dry-run, too.
func TestOrphanLooksAtTheAnswer(t *testing.T) {
	const next = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":3,
		"template":{"spec":{"containers":[{"name":"web","image":"web:1","resources":{"limits":{"cpu":"1"}}}]}},
		"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"fast","resources":{"requests":{"storage":"1024Mi"}}}}]}}`
	for name, tc := range map[string]struct {
		admits func(*appsv1.StatefulSet)
		answer error
		field  string
	}{
		"as it is sent": {func(*appsv1.StatefulSet) {}, nil, ""},
		"with defaults": {func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.DNSPolicy, s.Spec.VolumeClaimTemplates[0].Status.Phase = corev1.DNSClusterFirst, corev1.ClaimPending
			s.Spec.VolumeClaimTemplates[0].Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
		}, nil, ""},
		"another label of claims": {func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"a": "b"} }, nil, ""},
		"another image":           {func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "web:2" }, nil, "spec.template.spec.containers[0].image"},
		"an annotation of pods":   {func(s *appsv1.StatefulSet) { s.Spec.Template.Annotations = map[string]string{"a": "b"} }, nil, "spec.template.metadata.annotations"},
		"fewer replicas":          {func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(1)) }, nil, "spec.replicas"},
		"another class": {func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new("slow")
		}, nil, "spec.volumeClaimTemplates[0].spec.storageClassName"},
		"a policy on that name":      {nil, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("denied")), "denied"},
		"a quota that has no second": {nil, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("exceeded quota: sets")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}}
			c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(set).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
					if o.GetName() != "" {
						return apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
					}
					if o.GetGenerateName() == "" || tc.admits == nil {
						return tc.answer
					}
					sent, err := endpoint.Convert[appsv1.StatefulSet](o)
					if err != nil {
						return err
					}
					tc.admits(sent)
					return endpoint.ConvertTo(o, sent)
				},
			}).Build()
			key := client.ObjectKeyFromObject(set)
			if err := c.Get(t.Context(), key, set); err != nil {
				t.Fatal(err)
			}
			_, err := inPlaceAt(c).Do(t.Context(), plan.Effect{Verb: plan.OrphanSet, Side: plan.SourceSide, Name: "web", UID: "u", ResourceVersion: set.ResourceVersion, Manifest: next})
			if left := c.Get(t.Context(), key, set); (err == nil) != (tc.field == "") || apierrors.IsNotFound(left) != (tc.field == "") {
				t.Fatalf("%v, then %v", err, left)
			}
			if tc.field != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.field)) {
				t.Errorf("%v lacks %s", err, tc.field)
			}
		})
	}
}

// TestRecreatedSet: a set is created as it was recorded, with the fence of the process, and without owners of its fields,
// which get them at the end.
func TestRecreatedSet(t *testing.T) {
	const recorded = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web","namespace":"shop","managedFields":[{"manager":"kubectl"}]},"spec":{"later":true}}`
	set, err := RecreatedSet(plan.Effect{Manifest: recorded, Fence: "m.2"})
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := set.Object["spec"].(map[string]any)
	if set.GetAnnotations()[api.FenceAnnotationKey] != "m.2" || set.GetManagedFields() != nil || spec["later"] != true || set.GetUID() != types.UID("") {
		t.Errorf("got %v", set.Object)
	}
	former, err := RecreatedFrom(recorded)
	if err != nil || len(former.GetManagedFields()) != 1 || former.GetManagedFields()[0].Manager != "kubectl" {
		t.Errorf("got %v, %v", former, err)
	}
	if _, err := RecreatedSet(plan.Effect{Manifest: "{"}); err == nil {
		t.Error("a manifest that is no JSON is created")
	}
}
