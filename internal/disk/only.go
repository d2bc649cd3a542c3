package disk

import "sigs.k8s.io/controller-runtime/pkg/client"

// Only is an option for a live list of volumes of which only the disks are compared. Each volume then has at least its name
// and what Handle, Relate, Filed and Sought read of its source, which is a small part of the answer.
var Only client.ListOption = only{}

type only struct{}

// ApplyToList implements client.ListOption. It does not change the request.
func (only) ApplyToList(*client.ListOptions) {}
