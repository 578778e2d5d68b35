// The part of the page that signs a payment, and nothing else: what is opened most often.

import { signFlow } from './sign.js';
import { begin } from './start.js';

begin({ sign: (ui, { secret }, { link }, able) => signFlow(ui, secret, link, able) });
