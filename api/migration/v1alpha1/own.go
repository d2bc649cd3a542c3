package v1alpha1

import "slices"

// OwnSecrets returns the names of the Secrets of a namespace that the Migration itself uses: its kubeconfigs, and the
// tokens that its gates and its probe send to a Prometheus. They are in the Migration's own namespace and cluster, so
// a side with a kubeconfig has none.
func (m *Migration) OwnSecrets(namespace string, kubeconfig *SecretKeyReference) []string {
	if kubeconfig != nil || namespace != m.Namespace {
		return nil
	}
	var names []string
	add := func(ref *SecretKeyReference) {
		if ref != nil && !slices.Contains(names, ref.Name) {
			names = append(names, ref.Name)
		}
	}
	add(m.Spec.Source.KubeConfigSecretRef)
	add(m.Spec.Destination.KubeConfigSecretRef)
	for _, gate := range m.Spec.Gates {
		if gate.Prometheus != nil {
			add(gate.Prometheus.BearerTokenSecretRef)
		}
	}
	if p := m.Spec.Probe; p != nil && p.Prometheus != nil {
		add(p.Prometheus.BearerTokenSecretRef)
	}
	return names
}
