package inputs

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/internal/slicetest"
)

func named(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

// mounting returns a template with each kind of reference to ConfigMap app and Secret key, and others.
func mounting() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ImagePullSecrets: []corev1.LocalObjectReference{named("key")},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named("app")}}},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "key"}}},
			{Name: "both", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("app")}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: named("key")}},
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
			}}}},
			{Name: "driver", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "d", NodePublishSecretRef: new(named("key"))}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
		InitContainers: []corev1.Container{{Name: "init", EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: named("app")}}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("key")}},
		}}},
		Containers: []corev1.Container{{Name: "web", Env: []corev1.EnvVar{
			{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: named("app"), Key: "a"}}},
			{Name: "B", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("key"), Key: "b"}}},
			{Name: "C", Value: "app"},
			{Name: "D", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		}}},
	}}
}

// TestRewrite: every reference by which a container reads an input is rewritten, and no other field.
func TestRewrite(t *testing.T) {
	template := mounting()
	before := template.DeepCopy()
	got := Rewrite(template, []Record{{api.InputConfigMap, "app", "0000000000000001"}, {api.InputSecret, "key", api.InputAbsent}})
	want := mounting()
	config, secret := "app-0000000000000001", "key-absent"
	want.Spec.Volumes[0].ConfigMap.Name, want.Spec.Volumes[1].Secret.SecretName = config, secret
	want.Spec.Volumes[2].Projected.Sources[0].ConfigMap.Name, want.Spec.Volumes[2].Projected.Sources[1].Secret.Name = config, secret
	want.Spec.InitContainers[0].EnvFrom[0].ConfigMapRef.Name, want.Spec.InitContainers[0].EnvFrom[1].SecretRef.Name = config, secret
	want.Spec.Containers[0].Env[0].ValueFrom.ConfigMapKeyRef.Name, want.Spec.Containers[0].Env[1].ValueFrom.SecretKeyRef.Name = config, secret
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(before, template); diff != "" {
		t.Errorf("the template has changed\n%s", diff)
	}
	if other := Rewrite(template, []Record{{api.InputSecret, "app", "0000000000000001"}}); cmp.Diff(before, other) != "" {
		t.Error("a Secret's copy replaces a ConfigMap of its name")
	}
	if Rewrite(template, nil) != template {
		t.Error("without inputs it is another template")
	}
}

// TestNamedBy: an object counts if it is listed and the template names it. It is optional if all references are.
func TestNamedBy(t *testing.T) {
	list := func(refs ...Ref) (all []api.RevisionInput) {
		for _, ref := range refs {
			all = append(all, api.RevisionInput{Kind: ref.Kind, Name: ref.Name})
		}
		return all
	}
	app, key := Ref{api.InputConfigMap, "app"}, Ref{api.InputSecret, "key"}
	some, all := mounting(), mounting()
	some.Spec.Volumes[0].ConfigMap.Optional = new(true)
	setOptional(&all.Spec)
	for name, tc := range map[string]struct {
		template *corev1.PodTemplateSpec
		listed   []api.RevisionInput
		want     string
	}{
		"none is listed":        {mounting(), nil, "[]"},
		"both":                  {mounting(), list(key, app), "[ConfigMap app false Secret key false]"},
		"one":                   {mounting(), list(key), "[Secret key false]"},
		"one that is not named": {mounting(), list(Ref{api.InputConfigMap, "key"}, app), "[ConfigMap app false]"},
		"optional in one place": {some, list(app), "[ConfigMap app false]"},
		"optional in all":       {all, list(app, key), "[ConfigMap app true Secret key true]"},
	} {
		var got []string
		for _, each := range NamedBy(tc.template, tc.listed) {
			got = append(got, fmt.Sprintf("%s %t", each.Ref, each.Optional))
		}
		if fmt.Sprint(got) != tc.want {
			t.Errorf("%s: %v, want %s", name, got, tc.want)
		}
	}
}

// setOptional makes every reference optional.
func setOptional(spec *corev1.PodSpec) {
	eachReference(reflect.ValueOf(spec), func(of reflect.Value) { of.FieldByName("Optional").Set(reflect.ValueOf(new(true))) })
}

// referring are the types of fields by which a container reads a ConfigMap or a Secret.
var referring = []string{
	"ConfigMapVolumeSource", "SecretVolumeSource", "ConfigMapProjection", "SecretProjection",
	"ConfigMapEnvSource", "SecretEnvSource", "ConfigMapKeySelector", "SecretKeySelector",
}

// eachReference finds them by their types.
func eachReference(value reflect.Value, do func(reflect.Value)) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			eachReference(value.Elem(), do)
		}
	case reflect.Slice:
		for i := range value.Len() {
			eachReference(value.Index(i), do)
		}
	case reflect.Struct:
		if slices.Contains(referring, value.Type().Name()) {
			do(value)
			return
		}
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				eachReference(value.Field(i), do)
			}
		}
	default:
	}
}

// TestReferencesAreComplete: in any pod, the references are those that its types show, and a rewrite changes only listed names.
func TestReferencesAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var template corev1.PodTemplateSpec
		slicetest.Filler(rapid.Int64().Draw(t, "seed")).Fill(&template.Spec)
		template.Spec.EphemeralContainers = nil // a template has none
		count, made := 0, 0
		var records []Record
		eachReference(reflect.ValueOf(&template.Spec), func(of reflect.Value) {
			field, kind := of.FieldByName("Name"), api.InputConfigMap
			if of.Type().Name() == "SecretVolumeSource" {
				field = of.FieldByName("SecretName")
			}
			if of.Type().Name()[0] == 'S' {
				kind = api.InputSecret
			}
			made++
			field.SetString(fmt.Sprint("n", made))
			if rapid.Bool().Draw(t, "listed") {
				records = append(records, Record{kind, field.String(), "0123456789abcdef"})
			}
			count++
		})
		if got := len(references(&template.Spec)); got != count {
			t.Fatalf("%d references, and the types show %d", got, count)
		}
		out, want := Rewrite(&template, records), template.DeepCopy()
		eachReference(reflect.ValueOf(&want.Spec), func(of reflect.Value) {
			field := of.FieldByName("Name")
			if of.Type().Name() == "SecretVolumeSource" {
				field = of.FieldByName("SecretName")
			}
			if slices.ContainsFunc(records, func(r Record) bool { return r.Name == field.String() }) {
				field.SetString(field.String() + "-0123456789abcdef")
			}
		})
		if diff := cmp.Diff(want, out); diff != "" {
			t.Fatalf("-want +got\n%s", diff)
		}
	})
}
