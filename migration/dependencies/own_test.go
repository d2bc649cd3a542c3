package dependencies

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestK13Own: a template that names an object of the migration itself is detected, wherever it names it.
func TestK13Own(t *testing.T) {
	ref := corev1.LocalObjectReference{Name: "west"}
	for name, tc := range map[string]struct {
		own  Own
		spec corev1.PodSpec
		want string
	}{
		"nothing":                {Own{"mover", []string{"west"}}, corev1.PodSpec{}, ""},
		"the account":            {Own{"mover", nil}, corev1.PodSpec{ServiceAccountName: "mover"}, "ServiceAccount mover"},
		"another account":        {Own{"mover", nil}, corev1.PodSpec{ServiceAccountName: "web"}, ""},
		"no account, as default": {Own{"default", nil}, corev1.PodSpec{}, "ServiceAccount default"},
		"no account is known":    {Own{"", nil}, corev1.PodSpec{}, ""},
		"a pull Secret":          {Own{"", []string{"west"}}, corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{ref}}, "Secret west (imagePullSecrets)"},
		"an environment": {
			Own{"", []string{"west"}},
			corev1.PodSpec{InitContainers: []corev1.Container{{Name: "a", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref}}}}}},
			"Secret west (envFrom of init container a)",
		},
		"a projected volume": {Own{"", []string{"west"}}, corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: ref}}},
		}}}}}, "Secret west (volume v)"},
		"another Secret": {Own{"", []string{"west"}}, corev1.PodSpec{Volumes: []corev1.Volume{{Name: "west", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "east"}}}}}, ""},
		"both": {
			Own{"mover", []string{"west"}},
			corev1.PodSpec{ServiceAccountName: "mover", ImagePullSecrets: []corev1.LocalObjectReference{ref}},
			"ServiceAccount mover and Secret west (imagePullSecrets)",
		},
	} {
		if got := tc.own.Named(tc.spec); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestAccountIn: a user is a ServiceAccount of one namespace, by its name.
func TestAccountIn(t *testing.T) {
	for user, want := range map[string]string{
		"system:serviceaccount:shop:mover": "mover", "system:serviceaccount:shops:mover": "", "system:serviceaccount:shop": "",
		"system:serviceaccount:shop:a:b": "", "mover": "", "": "", "system:admin": "",
	} {
		if got := AccountIn(user, "shop"); got != want {
			t.Errorf("%q: %q, want %q", user, got, want)
		}
	}
}
