package world

// podSecurity is the prefix of the labels with which a namespace enforces Pod Security (kubernetes
// pod-security-admission, api/constants.go).
const podSecurity = "pod-security.kubernetes.io/"

// stricter returns the labels of a namespace's Pod Security that only restrict. The source's API server chooses them,
// so labels that allow more than an unlabelled namespace of the destination are left out: the level privileged, and
// every version, because an older version has fewer checks. An unknown level is enforced as restricted, as Pod
// Security does itself (pod-security-admission, api/helpers.go, ParseLevel).
func stricter(labels map[string]string) map[string]string {
	found := map[string]string{}
	for _, mode := range []string{"enforce", "audit", "warn"} {
		level, labelled := labels[podSecurity+mode]
		switch {
		case !labelled, level == "privileged":
		case level == "baseline":
			found[podSecurity+mode] = level
		default:
			found[podSecurity+mode] = "restricted"
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}
