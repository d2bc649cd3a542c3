package inputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestContent: the data and the type of an object are its content, and its metadata is not.
func TestContent(t *testing.T) {
	config := func(data map[string]string) *corev1.ConfigMap { return &corev1.ConfigMap{Data: data} }
	secret := func(kind corev1.SecretType, value string) *corev1.Secret {
		return &corev1.Secret{Type: kind, Data: map[string][]byte{"a": []byte(value)}}
	}
	for name, tc := range map[string]struct {
		a, b client.Object
		same bool
	}{
		"metadata":               {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", ResourceVersion: "7", Labels: map[string]string{"a": "b"}}, Data: map[string]string{"a": "b"}, Immutable: new(true)}, config(map[string]string{"a": "b"}), true},
		"a value":                {config(map[string]string{"a": "b"}), config(map[string]string{"a": "c"}), false},
		"a key":                  {config(map[string]string{"a": "b"}), config(map[string]string{"b": "b"}), false},
		"a border":               {config(map[string]string{"ab": "c"}), config(map[string]string{"a": "bc"}), false},
		"one value for two":      {config(map[string]string{"a": "b", "c": "d"}), config(map[string]string{"a": "bcd"}), false},
		"none and empty":         {config(nil), config(map[string]string{}), true},
		"an empty value":         {config(nil), config(map[string]string{"a": ""}), false},
		"binary data":            {&corev1.ConfigMap{BinaryData: map[string][]byte{"a": []byte("b")}}, config(map[string]string{"a": "b"}), false},
		"another kind":           {config(map[string]string{"a": "b"}), secret("", "b"), false},
		"the type of a Secret":   {secret("", "b"), secret(corev1.SecretTypeBasicAuth, "b"), false},
		"the standard type":      {secret("", "b"), secret(corev1.SecretTypeOpaque, "b"), true},
		"the value of a Secret":  {secret("", "b"), secret("", "c"), false},
		"the same in two orders": {config(map[string]string{"a": "b", "c": "d"}), config(map[string]string{"c": "d", "a": "b"}), true},
	} {
		a, b := ContentOf(tc.a), ContentOf(tc.b)
		if (a == b) != tc.same || !contents.MatchString(a) {
			t.Errorf("%s: %s and %s", name, a, b)
		}
	}
	if got := ContentOf(config(map[string]string{"a": "b"})); got != "b2a59bc6abb22f9c" {
		t.Errorf("the hash is another one than in former versions, so that all pods restart: %s", got)
	}
}

// TestCopies: for any object, its copy has its content, is immutable and belongs to the revision.
func TestCopies(t *testing.T) {
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "r"}}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), rapid.String(), 0, 4).Draw(t, "data")
		data := map[string][]byte{}
		for key, value := range values {
			data[key] = []byte(value)
		}
		meta := metav1.ObjectMeta{Namespace: "shop", Name: "app", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f"}}
		for kind, object := range map[api.RevisionInputKind]client.Object{
			api.InputConfigMap: &corev1.ConfigMap{ObjectMeta: meta, Data: values, BinaryData: data},
			api.InputSecret:    &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: data},
		} {
			record := Record{kind, "app", ContentOf(object)}
			copied := CopyOf(object, record, revision)
			if why := Unusable(copied, record); why != "" {
				t.Fatalf("%s: %s", kind, why)
			}
			want := metav1.ObjectMeta{
				Namespace: "shop", Name: "app-" + record.Content, Labels: map[string]string{api.InputCopyLabelKey: "true"},
				Annotations:     map[string]string{api.InputCopyAnnotationKey: "app"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ControllerRevision", Name: "web-1", UID: "r"}},
			}
			var got metav1.ObjectMeta
			switch o := copied.(type) {
			case *corev1.ConfigMap:
				got = o.ObjectMeta
			case *corev1.Secret:
				if got = o.ObjectMeta; o.Type != corev1.SecretTypeTLS {
					t.Fatalf("type %s", o.Type)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("-want +got\n%s", diff)
			}
		}
	})
}

// TestUnusable: an object of another client is not taken for a copy.
func TestUnusable(t *testing.T) {
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "r"}}
	original := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app"}, Data: map[string]string{"a": "b"}}
	record := Record{api.InputConfigMap, "app", ContentOf(original)}
	for want, change := range map[string]func(*corev1.ConfigMap){
		"no label":        func(c *corev1.ConfigMap) { c.Labels = nil },
		"not immutable":   func(c *corev1.ConfigMap) { c.Immutable = nil },
		"another content": func(c *corev1.ConfigMap) { c.Data["a"] = "c" },
		"being deleted":   func(c *corev1.ConfigMap) { c.DeletionTimestamp = &metav1.Time{} },
	} {
		copied, is := CopyOf(original, record, revision).(*corev1.ConfigMap)
		if !is {
			t.Fatal("it is of another kind")
		}
		change(copied)
		if got := Unusable(copied, record); !strings.Contains(got, want) {
			t.Errorf("%s: %q", want, got)
		}
	}
}

// TestRefusedTypes: a Secret on which a controller acts cannot be an input.
func TestRefusedTypes(t *testing.T) {
	for kind, refused := range map[corev1.SecretType]bool{
		"": false, corev1.SecretTypeOpaque: false, corev1.SecretTypeTLS: false, "example.com/any": false,
		corev1.SecretTypeServiceAccountToken: true, corev1.SecretTypeBootstrapToken: true, "helm.sh/release.v1": true,
	} {
		if got := Refused(&corev1.Secret{Type: kind}); (got != "") != refused {
			t.Errorf("type %q: %q", kind, got)
		}
	}
	if got := Refused(&corev1.ConfigMap{}); got != "" {
		t.Errorf("a ConfigMap: %q", got)
	}
}
