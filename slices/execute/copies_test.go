package execute

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/inputs"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

func revisionOf(name string, records ...inputs.Record) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name), Annotations: map[string]string{api.RevisionInputsAnnotationKey: inputs.Encode(records)},
	}}
}

// forbidding refuses the requests of a verb, and counts the writes.
func forbidding(refused string, writes *int) interceptor.Funcs {
	fail := func(verb string) error {
		if verb != "get" {
			*writes++
		}
		if verb == refused {
			return apierrors.NewForbidden(corev1.Resource("configmaps"), "app", errors.New("no"))
		}
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := fail("get"); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := fail("create"); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := fail("patch"); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
	}
}

// TestRevisionInputsCopied: a copy is created once, belongs to each revision that uses it, and is never that of another client.
func TestRevisionInputsCopied(t *testing.T) {
	original := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}, Data: map[string]string{"a": "b"}}
	changed := original.DeepCopy()
	changed.Data["a"] = "c"
	record := inputs.Record{Kind: api.InputConfigMap, Name: "app", Content: inputs.ContentOf(original)}
	absent := inputs.Record{Kind: api.InputConfigMap, Name: "app", Content: api.InputAbsent}
	ours, is := inputs.CopyOf(original, record, revisionOf("web-1")).(*corev1.ConfigMap)
	if !is {
		t.Fatal("it is of another kind")
	}
	copyOf := func(change func(*corev1.ConfigMap)) []client.Object {
		out := ours.DeepCopy()
		change(out)
		return []client.Object{out}
	}
	owned := func(by ...string) func(*corev1.ConfigMap) {
		return func(c *corev1.ConfigMap) {
			c.OwnerReferences = nil
			for _, name := range by {
				c.OwnerReferences = append(c.OwnerReferences, inputs.OwnerOf(revisionOf(name)))
			}
		}
	}
	for name, tc := range map[string]struct {
		record  inputs.Record
		now     *corev1.ConfigMap
		objects []client.Object
		fails   string
		writes  int
		owners  int
		problem string
	}{
		"the first":                         {record, original, nil, "", 1, 1, ""},
		"it exists":                         {record, original, copyOf(func(*corev1.ConfigMap) {}), "", 0, 1, ""},
		"it belongs to another revision":    {record, original, copyOf(owned("web-2")), "", 1, 2, ""},
		"it belongs to none":                {record, original, copyOf(owned()), "", 1, 1, ""},
		"it exists, and the original not":   {record, nil, copyOf(func(*corev1.ConfigMap) {}), "", 0, 1, ""},
		"it was deleted, and the original":  {record, nil, nil, "", 0, 0, "does not exist, and ConfigMap app has another content"},
		"it was deleted, and another is it": {record, changed, nil, "", 0, 0, "restore that content"},
		"the name is taken":                 {record, original, copyOf(func(c *corev1.ConfigMap) { c.Labels = nil }), "", 0, 1, "cannot be the copy of ConfigMap app for revision web-1"},
		"other content has the name":        {record, original, copyOf(func(c *corev1.ConfigMap) { c.Data["a"] = "x" }), "", 0, 1, "another content"},
		"the creation is forbidden":         {record, original, nil, "create", 1, 0, "bind the ClusterRole sliceshift-revision-inputs"},
		"the read is forbidden":             {record, original, nil, "get", 0, 0, "cannot be read"},
		"the owner is forbidden":            {record, original, copyOf(owned("web-2")), "patch", 1, 1, "cannot be kept for revision web-1"},
		"none":                              {absent, nil, nil, "", 0, 0, ""},
		"none, and the name is taken":       {absent, nil, []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app-absent"}}}, "", 0, 0, "ConfigMap app-absent exists, and pods of revision web-1 would read it"},
	} {
		t.Run(name, func(t *testing.T) {
			writes := 0
			h, ears := newControl(t, forbidding(tc.fails, &writes), tc.objects...)
			objects := map[inputs.Ref]client.Object{}
			if tc.now != nil {
				objects[record.Ref()] = tc.now
			}
			revision := revisionOf("web-1", tc.record)
			got := h.Copies(t.Context(), h.Set, revision, objects)
			if (got == "") != (tc.problem == "") || !strings.Contains(got, tc.problem) || writes != tc.writes {
				t.Errorf("%d writes, problem %q, want %q", writes, got, tc.problem)
			}
			if ears.Has("CopiedRevisionInput") != (tc.writes == 1 && tc.objects == nil && tc.problem == "") {
				t.Errorf("events %v", ears.Lines)
			}
			if tc.fails == "get" {
				return
			}
			found := &corev1.ConfigMap{}
			err := h.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: record.Copy()}, found)
			if len(found.OwnerReferences) != tc.owners || err == nil != (tc.owners > 0) {
				t.Errorf("owners %v: %v", found.OwnerReferences, err)
			}
			if before := writes; tc.problem == "" && (h.Copies(t.Context(), h.Set, revision, objects) != "" || writes != before) {
				t.Errorf("it is written again: %d writes", writes)
			}
		})
	}
	h, _ := newControl(t, interceptor.Funcs{})
	if got := h.Copies(t.Context(), slicetest.NamedSet("web", nil), &appsv1.ControllerRevision{}, nil); got != "" {
		t.Errorf("a revision without inputs: %s", got)
	}
	unreadable := revisionOf("web-1")
	unreadable.Annotations[api.RevisionInputsAnnotationKey] = "x"
	if got := h.Copies(t.Context(), h.Set, unreadable, nil); !strings.Contains(got, "ControllerRevision shop/web-1") {
		t.Errorf("an annotation that cannot be read: %q", got)
	}
}
