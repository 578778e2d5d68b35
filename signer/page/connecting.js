// The part of the page that creates and connects a wallet: what most people open first.

import { bindFlow } from './bind.js';
import { fetchAhead } from './files.js';
import { begin } from './start.js';

begin({ bind: (ui, { secret }, place, able) => bindFlow(ui, secret, { ...place, connected: () => fetchAhead('sign') }, able) });
