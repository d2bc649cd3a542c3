package flags

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// Back returns the flags of the reverse move for volumes moved with these specs, quoted for a shell: the methods, and
// the settings that hold in both directions. A word in capitals stands for a value that only the user knows, such as the
// storage class of the other side.
func Back(volumes []api.VolumeSpec) []string {
	var words []string
	add := func(flag, value string) { words = append(words, "--"+flag, command.Quote(value)) }
	for _, v := range volumes {
		if v.Shared {
			add(Shared, v.ClaimTemplate)
		}
		if v.StorageClassName != nil {
			add(StorageClass, v.ClaimTemplate+"=CLASS")
		}
		if len(v.AccessModes) > 0 {
			add(AccessModes, v.ClaimTemplate+"=MODE")
		}
		switch v.Method {
		case api.MethodCopy:
			add(Volume, strings.Join(append([]string{v.ClaimTemplate + "=copy"}, copyBack(v.Copy)...), ","))
		case api.MethodSnapshot:
			add(Volume, v.ClaimTemplate+"=snapshot")
		case api.MethodEmpty:
			add(Volume, v.ClaimTemplate+"=empty"+emptyBack(v.Empty))
		case api.MethodRebind:
		}
	}
	return words
}

func emptyBack(said api.EmptySpec) string {
	text := ""
	if said.FillsFromPeers {
		text += ",fills-from-peers"
	}
	if said.ReadyWhenFilled {
		text += ",ready-when-filled"
	}
	return text
}

// copyBack returns the settings of a copy, except those of the side that it went to (size of the volumes, address of the
// pods) and the cutover.
func copyBack(asked api.CopySpec) []string {
	var words []string
	add := func(key, value string) {
		if value != "" {
			words = append(words, key+"="+value)
		}
	}
	add("image", asked.Image)
	if asked.Transport != api.TransportAuto {
		add("transport", wordFor(transportWords, asked.Transport))
	}
	add("service", wordFor(serviceWords, asked.ServiceType))
	if asked.Address != "" {
		add("address", "HOST:PORT")
	}
	add("bandwidth", quantityText(asked.Bandwidth))
	if asked.RunAsUser != nil {
		user := strconv.FormatInt(*asked.RunAsUser, 10)
		if asked.RunAsGroup != nil {
			user += fmt.Sprintf(":%d", *asked.RunAsGroup)
		}
		add("run-as", user)
	}
	if asked.Warm != api.CopyWarmAuto {
		add("warm", wordFor(warmWords, asked.Warm))
	}
	add("downtime", durationText(asked.DowntimeBudget))
	add("limit", durationText(asked.DowntimeLimit))
	if asked.Verify != api.CopyVerifyFull {
		add("verify", wordFor(verifyWords, asked.Verify))
	}
	if asked.Devices {
		add("devices", "allow")
	}
	if asked.Prefetch > 0 {
		add("prefetch", strconv.Itoa(int(asked.Prefetch)))
	}
	return words
}

// wordFor returns the word for a value, or an empty string if there is none.
func wordFor[T api.CopyTransport | corev1.ServiceType | api.CopyWarmMode | api.CopyVerify](words map[string]T, value T) string {
	for word, is := range words {
		if is == value {
			return word
		}
	}
	return ""
}

func quantityText(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

func durationText(d *metav1.Duration) string {
	if d == nil {
		return ""
	}
	return d.Duration.String()
}
