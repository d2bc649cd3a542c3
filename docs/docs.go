// Package docs holds what people read. Its tests keep that in step with the code.
package docs

import _ "embed"

// Runbook is the page with an entry for each reason.
//
//go:embed runbook.md
var Runbook string
