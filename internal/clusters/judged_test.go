package clusters

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// counting returns a client that counts the writes that reach it.
func counting(writes *int) client.Client {
	return fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
			*writes++
			return nil
		},
		Update: func(_ context.Context, _ client.WithWatch, _ client.Object, _ ...client.UpdateOption) error {
			*writes++
			return nil
		},
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, _ ...client.DeleteOption) error {
			*writes++
			return nil
		},
		DeleteAllOf: func(_ context.Context, _ client.WithWatch, _ client.Object, _ ...client.DeleteAllOfOption) error {
			*writes++
			return nil
		},
	}).Build()
}

// TestK1Unconditional: a write without preconditions, which an API server would apply to any object of that name, does not
// leave this process.
func TestK1Unconditional(t *testing.T) {
	merge := func(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }
	object := func(uid types.UID, version string) client.Object {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "of-a-victim", UID: uid, ResourceVersion: version}}
	}
	conditions := func(uid types.UID, version string) client.DeleteOption {
		return client.Preconditions{UID: &uid, ResourceVersion: &version}
	}
	uid := types.UID("u")
	for name, tc := range map[string]struct {
		do   func(client.Client) error
		sent bool
	}{
		"a patch that says which": {func(c client.Client) error {
			return c.Patch(t.Context(), object("", ""), merge(`{"metadata":{"uid":"u","resourceVersion":"1"}}`))
		}, true},
		"a patch without a UID": {func(c client.Client) error {
			return c.Patch(t.Context(), object("", ""), merge(`{"metadata":{"resourceVersion":"1"}}`))
		}, false},
		"a patch with an empty UID": {func(c client.Client) error {
			return c.Patch(t.Context(), object("u", "1"), merge(`{"metadata":{"uid":"","resourceVersion":"1"}}`))
		}, false},
		"a patch with an empty resourceVersion": {func(c client.Client) error {
			return c.Patch(t.Context(), object("u", "1"), merge(`{"metadata":{"uid":"u","resourceVersion":""}}`))
		}, false},
		"a patch of another kind": {func(c client.Client) error {
			return c.Patch(t.Context(), object("u", "1"), client.RawPatch(types.JSONPatchType, []byte(`[]`)))
		}, false},
		"a patch that is none": {func(c client.Client) error {
			return c.Patch(t.Context(), object("u", "1"), merge(`{"metadata":{"uid":1}}`))
		}, false},
		"a dry run of a patch": {func(c client.Client) error {
			return c.Patch(t.Context(), object("", ""), merge(`{}`), client.DryRunAll)
		}, true},
		"an update that says which":           {func(c client.Client) error { return c.Update(t.Context(), object("u", "1")) }, true},
		"an update without a UID":             {func(c client.Client) error { return c.Update(t.Context(), object("", "1")) }, false},
		"an update without a resourceVersion": {func(c client.Client) error { return c.Update(t.Context(), object("u", "")) }, false},
		"a deletion that says which":          {func(c client.Client) error { return c.Delete(t.Context(), object("", ""), conditions("u", "1")) }, true},
		"a deletion without conditions":       {func(c client.Client) error { return c.Delete(t.Context(), object("u", "1")) }, false},
		"a deletion with an empty UID":        {func(c client.Client) error { return c.Delete(t.Context(), object("u", "1"), conditions("", "1")) }, false},
		"a deletion with an empty version":    {func(c client.Client) error { return c.Delete(t.Context(), object("u", "1"), conditions("u", "")) }, false},
		"a deletion without a resourceVersion": {func(c client.Client) error {
			return c.Delete(t.Context(), object("u", "1"), client.Preconditions{UID: &uid})
		}, false},
		"a deletion of all that there is of them": {func(c client.Client) error { return c.DeleteAllOf(t.Context(), object("u", "1")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			err := tc.do(Judged(counting(&writes)))
			if sent := writes > 0; sent != tc.sent || sent != (err == nil) {
				t.Errorf("sent: %t, %v; want %t", sent, err, tc.sent)
			}
		})
	}
}
