package flags

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// volumeHelp is what --volume is for.
const volumeHelp = "how the data of a claim template moves, as `TEMPLATE=METHOD` (repeatable): rebind; or empty,WORD,... with what you know of the application: " + emptyWords +
	"; or copy,image=IMAGE,... with more of " + copyWords

const (
	emptyWords = "fills-from-peers, ready-when-filled, returns-to-kept"
	copyWords  = "size=SIZE, service=cluster-ip|node-port|load-balancer, address=HOST:PORT, bandwidth=BYTES, run-as=USER[:GROUP]"
)

// methodWords are the methods by the words of --volume.
var methodWords = map[string]api.VolumeMethod{"rebind": api.MethodRebind, "empty": api.MethodEmpty, "copy": api.MethodCopy}

// readVolume reads one --volume into what is asked for of its claim template.
func readVolume(text string, of func(template string) *api.VolumeSpec) error {
	template, rest, _ := strings.Cut(text, "=")
	words := strings.Split(rest, ",")
	method, known := methodWords[words[0]]
	if template == "" || !known {
		return command.Usagef("--%s must be TEMPLATE=METHOD, with method rebind, empty or copy, not %q", Volume, text)
	}
	asked := of(template)
	asked.Method = method
	for _, word := range words[1:] {
		switch {
		case method == api.MethodEmpty && readEmpty(word, &asked.Empty):
		case method == api.MethodCopy && readCopy(word, &asked.Copy):
		case method == api.MethodCopy:
			return command.Usagef("--%s %s: %q is none of what can be said of method copy: image=IMAGE, %s", Volume, text, word, copyWords)
		default:
			return command.Usagef("--%s %s: %q is none of what can be said of method empty: %s", Volume, text, word, emptyWords)
		}
	}
	return nil
}

// readEmpty reads a word about method Empty, and says whether there is such a word.
func readEmpty(word string, said *api.EmptySpec) bool {
	switch word {
	case "fills-from-peers":
		said.FillsFromPeers = true
	case "ready-when-filled":
		said.ReadyWhenFilled = true
	case "returns-to-kept":
		said.ReturnsToKept = true
	default:
		return false
	}
	return true
}

// serviceWords are the types of a receiver's Service by their words.
var serviceWords = map[string]corev1.ServiceType{
	"cluster-ip": corev1.ServiceTypeClusterIP, "node-port": corev1.ServiceTypeNodePort, "load-balancer": corev1.ServiceTypeLoadBalancer,
}

// readCopy reads what is asked for of method Copy, and says whether it could be read.
func readCopy(word string, asked *api.CopySpec) (read bool) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "image":
		asked.Image = value
	case "size":
		asked.Size = quantity(value)
		return asked.Size != nil
	case "service":
		asked.ServiceType, read = serviceWords[value]
		return read
	case "address":
		asked.Address = value
	case "bandwidth":
		asked.Bandwidth = quantity(value)
		return asked.Bandwidth != nil
	case "run-as":
		user, group, both := strings.Cut(value, ":")
		if asked.RunAsUser = number(user); both {
			asked.RunAsGroup = number(group)
		}
		return asked.RunAsUser != nil && (!both || asked.RunAsGroup != nil)
	default:
		return false
	}
	return value != ""
}

// quantity is nil for what is none, or not above 0.
func quantity(text string) *resource.Quantity {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() <= 0 {
		return nil
	}
	return &q
}

func number(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}
